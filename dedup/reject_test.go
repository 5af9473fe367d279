package dedup

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/changes"
)

type rejectCase struct {
	name, reason string
	value        []byte
}

func rejects(tb testing.TB) []rejectCase {
	key := func(name, reason string, f func(c *eventspb.LeaseChange, k *eventspb.LeaseKey)) rejectCase {
		c := keyRow("eu", 5, lease.Leased)
		f(c, c.GetKey())
		return rejectCase{name, reason, marshal(tb, c)}
	}
	set := func(name, reason string, f func(c *eventspb.LeaseChange, p *eventspb.LeasePool)) rejectCase {
		c := settings(5, "release")
		f(c, c.GetSettings())
		return rejectCase{name, reason, marshal(tb, c)}
	}
	return []rejectCase{
		{"garbage", changes.ReasonUndecodable, []byte{0xff, 0xff}},
		{"nothing", changes.ReasonNoRow, nil},
		key("no row", changes.ReasonNoRow, func(c *eventspb.LeaseChange, _ *eventspb.LeaseKey) { c.Row = nil }),
		key("no client", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseKey) { c.Client = "" }),
		key("NUL in the client", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseKey) { c.Client = "c\x00" }),
		key("no pool", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseKey) { c.Pool = "" }),
		key("no key", changes.ReasonBadName, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Key = "" }),
		key("long key", changes.ReasonBadName, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Key = strings.Repeat("x", 2000) }),
		key("no resource", changes.ReasonBadName, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Resource = "" }),
		key("no region", changes.ReasonUnknownRegion, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Region = "" }),
		key("undeclared region", changes.ReasonUnknownRegion, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Region = "mars" }),
		key("version 0", changes.ReasonBadVersion, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.Version = 0 }),
		key("no state", changes.ReasonUnknownState, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.State = "" }),
		key("unknown state", changes.ReasonUnknownState, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.State = string(RowDeleted) }),
		key("no end", changes.ReasonNoExpires, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.ExpiresMs = 0 }),
		key("end before 1970", changes.ReasonBadTime, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.ExpiresMs = -1 }),
		key("end after year 9999", changes.ReasonBadTime, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.ExpiresMs = math.MaxInt64 }),
		key("granted before 1970", changes.ReasonBadTime, func(_ *eventspb.LeaseChange, k *eventspb.LeaseKey) { k.GrantedMs = math.MinInt64 }),
		set("settings without version", changes.ReasonBadVersion, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.Version = 0 }),
		set("settings without pool", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeasePool) { c.Pool = "" }),
		set("unknown mode", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.Duplicates = "ask" }),
		set("negative quarantine", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.QuarantineMs = -1 }),
		set("too many buckets", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.Buckets = 1001 }),
	}
}

// TestEveryReason: an invalid record is rejected with its reason and leaves no trace; its valid
// neighbours are applied.
func TestEveryReason(t *testing.T) {
	for _, x := range rejects(t) {
		t.Run(x.name, func(t *testing.T) {
			r := newRunner(t, testConfig())
			r.Append(x.value)
			r.Fold(1)
			r.Commit(1)
			if got := r.TakeRejects(); len(got) != 1 || got[0].Reason != x.reason || got[0].Detail == "" {
				t.Fatalf("rejected %v, want %s", got, x.reason)
			}
			if n := len(r.Table(TableKeys)) + len(r.Table(TablePools)) + len(r.Timers()); n > 0 {
				t.Fatalf("it left %d rows and timers", n)
			}
			r.Append(x.value, marshal(t, keyRow("eu", 1, lease.Leased)), x.value)
			r.Fold(3)
			r.Commit(2)
			if got := r.TakeRejects(); len(got) != 2 || got[0].Offset != 1 || got[1].Offset != 3 || len(r.Table(TableKeys)) != 1 {
				t.Fatalf("rejected %v, %d rows", got, len(r.Table(TableKeys)))
			}
		})
	}
}

// FuzzFold: for all bytes, Fold neither fails nor panics, and each applied row has a timer and is
// forgotten at the end.
func FuzzFold(f *testing.F) {
	for _, x := range rejects(f) {
		f.Add(x.value, int64(11_001))
	}
	for _, s := range []lease.State{lease.Leased, lease.Pending, lease.Released, lease.Superseded} {
		f.Add(marshal(f, keyRow("us", 5, s)), int64(2000))
	}
	f.Fuzz(func(t *testing.T, value []byte, now int64) {
		now = max(0, min(now, changes.MaxMs))
		r := newRunner(t, testConfig())
		r.Append(marshal(t, keyRow("eu", 1, lease.Leased)), value, marshal(t, settings(1, "release")), value)
		r.Fold(4)
		r.Commit(now)
		r.Crash()
		r.Commit(now)
		c := &eventspb.LeaseChange{}
		if proto.Unmarshal(value, c) != nil && len(r.TakeRejects()) != 2 {
			t.Fatal("an undecodable record was accepted")
		}
		for key, v := range r.Table(TableKeys) {
			if _, err := ParseKey(v); err != nil || strings.Count(key, "\x00") != 2 {
				t.Fatalf("row %q: %v", key, err)
			}
		}
		if len(r.Timers()) != len(r.Table(TableKeys)) {
			t.Fatalf("%d timers, %d keys", len(r.Timers()), len(r.Table(TableKeys)))
		}
		describe(t, r) // checks the outputs
		for range 6 {
			now += changes.MaxMs
			r.Commit(now)
		}
		if n := len(r.Table(TableKeys)); n > 0 {
			t.Fatalf("%d keys were not forgotten", n)
		}
	})
}
