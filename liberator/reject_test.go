package liberator

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
)

type rejectCase struct {
	name, reason string
	value        []byte
}

func rejects(tb testing.TB) []rejectCase {
	res := func(name, reason string, f func(c *eventspb.LeaseChange, r *eventspb.LeaseResource)) rejectCase {
		c := leased("r", 5, 10_000)
		f(c, c.GetResource())
		return rejectCase{name, reason, marshal(tb, c)}
	}
	set := func(name, reason string, f func(c *eventspb.LeaseChange, p *eventspb.LeasePool)) rejectCase {
		c := settings(5, 1000, 2)
		f(c, c.GetSettings())
		return rejectCase{name, reason, marshal(tb, c)}
	}
	return []rejectCase{
		{"garbage", changes.ReasonUndecodable, []byte{0xff, 0xff}},
		{"nothing", changes.ReasonNoRow, nil},
		res("no row", changes.ReasonNoRow, func(c *eventspb.LeaseChange, _ *eventspb.LeaseResource) { c.Row = nil }),
		res("no client", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseResource) { c.Client = "" }),
		res("no pool", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseResource) { c.Pool = "" }),
		res("NUL in the pool", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeaseResource) { c.Pool = "p\x00q" }),
		res("no resource", changes.ReasonBadName, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.Resource = "" }),
		res("long resource", changes.ReasonBadName, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.Resource = strings.Repeat("x", 2000) }),
		res("no owner", changes.ReasonUnknownRegion, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.Owner = "" }),
		res("undeclared owner", changes.ReasonUnknownRegion, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.Owner = "mars" }),
		res("version 0", changes.ReasonBadVersion, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.Version = 0 }),
		res("held and available", changes.ReasonHeldAndAvailable, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.AvailableMs = 1 }),
		res("no end", changes.ReasonNoExpires, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.ExpiresMs = 0 }),
		res("end before 1970", changes.ReasonBadTime, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.ExpiresMs = -1 }),
		res("end after year 9999", changes.ReasonBadTime, func(_ *eventspb.LeaseChange, r *eventspb.LeaseResource) { r.ExpiresMs = math.MaxInt64 }),
		set("settings without version", changes.ReasonBadVersion, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.Version = -1 }),
		set("settings without pool", changes.ReasonBadName, func(c *eventspb.LeaseChange, _ *eventspb.LeasePool) { c.Pool = "" }),
		set("negative quarantine", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.QuarantineMs = -1 }),
		set("endless quarantine", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.QuarantineMs = math.MaxInt64 }),
		set("no buckets", changes.ReasonBadSettings, func(_ *eventspb.LeaseChange, p *eventspb.LeasePool) { p.Buckets = 0 }),
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
			if n := len(r.Table(TableResources)) + len(r.Table(TablePools)) + len(r.Timers()); n > 0 {
				t.Fatalf("it left %d rows and timers", n)
			}
			r.Append(x.value, marshal(t, leased("r", 1, 1000)), x.value)
			r.Fold(3)
			r.Commit(2)
			if got := r.TakeRejects(); len(got) != 2 || got[0].Offset != 1 || got[1].Offset != 3 || len(r.Table(TableResources)) != 1 {
				t.Fatalf("rejected %v, %d rows", got, len(r.Table(TableResources)))
			}
		})
	}
}

// TestUnusedRows: rows of other kinds are ignored.
func TestUnusedRows(t *testing.T) {
	r := newRunner(t, testConfig())
	for _, c := range []*eventspb.LeaseChange{
		{Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{}}},
		{Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{}}},
		{Row: &eventspb.LeaseChange_RegionRow{RegionRow: &eventspb.LeaseRegion{}}},
		{Row: &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{}}},
	} {
		r.Append(marshal(t, c))
	}
	r.Fold(4)
	r.Commit(1)
	if got := r.TakeRejects(); len(got) > 0 || len(r.Table(TableResources)) > 0 {
		t.Errorf("rejected %v", got)
	}
}

// FuzzFold: for all bytes, Fold neither fails nor panics, and each applied lease has a timer and is
// readable after a crash.
func FuzzFold(f *testing.F) {
	for _, x := range rejects(f) {
		f.Add(x.value, int64(11_001))
	}
	f.Add(marshal(f, leased("r", 5, 10_000)), int64(11_001))
	f.Add(marshal(f, free("r", 5, 10_000)), int64(11_001))
	f.Fuzz(func(t *testing.T, value []byte, now int64) {
		now = max(0, min(now, changes.MaxMs))
		r := newRunner(t, testConfig())
		r.Append(value, marshal(t, settings(1, 60_000, 2)), value)
		r.Fold(3)
		r.Commit(now)
		r.Crash()
		r.Commit(now)
		c := &eventspb.LeaseChange{}
		if proto.Unmarshal(value, c) != nil && len(r.TakeRejects()) != 2 {
			t.Fatal("an undecodable record was accepted")
		}
		leases := 0
		for key, v := range r.Table(TableResources) {
			row, err := ParseResource(v)
			if err != nil || strings.Count(key, "\x00") != 2 {
				t.Fatalf("row %q: %v", key, err)
			}
			if row.Expires > 0 {
				leases++
			}
		}
		if len(r.Timers()) != leases {
			t.Fatalf("%d timers, %d leases", len(r.Timers()), leases)
		}
		for _, x := range commands(t, r) {
			if x.GetLiberate().AvailableMs < x.GetLiberate().ExpiresMs {
				t.Fatalf("command %v", x)
			}
		}
	})
}

var _ stream.Timers = (*mutant)(nil)
