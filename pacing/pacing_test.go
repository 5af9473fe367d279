package pacing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

const hourMs = 3_600_000

// copied is the topic of the copies in these tests.
func copied() string { return events.CopiedBudgetsTopic("us") }

func processor(t testing.TB) stream.Processor {
	t.Helper()
	p, err := ProcessorConfig{DC: "eu", Peers: []string{"eu", "us"}, Layout: events.Layout{Shards: 1}}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// record returns the record of a document of one campaign.
func record(t testing.TB, version uint64, effectiveHour, micros int64) stream.Record {
	t.Helper()
	d := &budget.Document{
		Account: "acme", Version: version, Zone: "UTC", Currency: "EUR", EffectiveMs: effectiveHour * hourMs,
		Campaigns: []budget.Campaign{{ID: "c", Limit: budget.Limit{Kind: budget.Daily, Micros: micros}}},
	}
	value, err := proto.Marshal(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Key: d.RecordKey(), Value: value}
}

// rows returns the state as text.
func rows(r *streamtest.Runner) string {
	var list []string
	for k, v := range r.Table(TableBudgets) {
		list = append(list, fmt.Sprintf("%q %q", k, v))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// compact returns the records that compaction leaves, by a key.
func compact(list []stream.Record, key func(stream.Record) string) []stream.Record {
	last := map[string]int{}
	for i, r := range list {
		last[key(r)] = i
	}
	var left []stream.Record
	for _, i := range slices.Sorted(maps.Values(last)) {
		left = append(left, list[i])
	}
	return left
}

// TestReplicas: two datacentres that read the same records in other orders, with crashes, have the
// same state; one that begins from nothing, after compaction, has the same versions.
func TestReplicas(t *testing.T) {
	lost := 0 // by a topic that is keyed by account
	p := processor(t)
	rapid.Check(t, func(rt *rapid.T) {
		var own, other []stream.Record
		for range rapid.IntRange(1, 8).Draw(rt, "records") {
			r := record(t, rapid.Uint64Range(1, 5).Draw(rt, "version"), rapid.Int64Range(0, 4).Draw(rt, "effective")*24,
				rapid.Int64Range(0, 1).Draw(rt, "micros"))
			r.TimeMs = rapid.Int64Range(1, 150).Draw(rt, "time") * hourMs
			if rapid.Bool().Draw(rt, "copied") {
				other = append(other, r)
			} else {
				own = append(own, r)
			}
		}
		fold := func(own, other []stream.Record, crashes bool) *streamtest.Runner {
			r := streamtest.New(t, streamtest.Options{Processor: p})
			r.AppendTo(events.BudgetsTopic, own...)
			r.AppendTo(copied(), other...)
			for r.Remaining() > 0 {
				topic := rapid.SampledFrom([]string{events.BudgetsTopic, copied()}).Draw(rt, "topic")
				r.FoldFrom(topic, 1)
				if crashes && rapid.IntRange(0, 3).Draw(rt, "crash") == 0 {
					r.Crash()
				} else if rapid.Bool().Draw(rt, "commit") {
					r.Commit(1)
				}
			}
			r.Commit(1)
			if rejects := r.TakeRejects(); len(rejects) > 0 {
				rt.Fatalf("rejected: %+v", rejects)
			}
			return r
		}
		first := fold(own, other, true)
		reversed := slices.Clone(own)
		slices.Reverse(reversed)
		if second := fold(append(reversed, own...), other, false); rows(second) != rows(first) {
			rt.Fatalf("in another order\n%s\nwant\n%s", rows(second), rows(first))
		}
		byKey := func(r stream.Record) string { return string(r.Key) }
		third := fold(compact(own, byKey), compact(other, byKey), false)
		if latest(t, third) != latest(t, first) {
			rt.Fatalf("from nothing\n%s\nwant\n%s", rows(third), rows(first))
		}
		byAccount := func(stream.Record) string { return "acme" }
		if latest(t, fold(compact(own, byAccount), compact(other, byAccount), false)) != latest(t, first) {
			lost++
		}
	})
	if lost == 0 {
		t.Error("a topic that is keyed by account has never lost a version: the test would not notice it")
	}
}

// latest returns the greatest version in the state.
func latest(t testing.TB, r *streamtest.Runner) string {
	var v budget.Versions
	for _, value := range r.Table(TableBudgets) {
		m := &eventspb.AccountBudgets{}
		if err := proto.Unmarshal(value, m); err != nil {
			t.Fatal(err)
		}
		v = v.Add(budget.FromStored(m))
	}
	if v.Latest() == nil {
		return ""
	}
	return string(v.Latest().Encode())
}

// later adds a field of a later version to a message.
func later(m protoreflect.Message) {
	m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 7))
}

// TestRejects: a record that is not valid as a whole is a dead letter with its reason, and changes
// nothing.
func TestRejects(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: processor(t)})
	good := record(t, 3, 0, 5)
	r.AppendTo(events.BudgetsTopic, good)
	r.FoldAll()
	r.Commit(1)
	before := rows(r)
	change := func(fn func(*eventspb.AccountBudgets)) stream.Record {
		m := &eventspb.AccountBudgets{}
		if err := proto.Unmarshal(record(t, 4, 0, 5).Value, m); err != nil {
			t.Fatal(err)
		}
		fn(m)
		value, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return stream.Record{Key: budget.AppendKey(nil, m.Account, m.Version), Value: value}
	}
	for _, c := range []struct {
		rec          stream.Record
		reason, text string
	}{
		{stream.Record{Key: good.Key, Value: []byte{0xff}}, ReasonUndecodable, "AccountBudgets"},
		{stream.Record{Key: good.Key}, stream.ReasonNoValue, "write a greater one"},
		{stream.Record{Key: good.Key, Value: make([]byte, MaxValueBytes+1)}, ReasonOversized, "at most"},
		{stream.Record{Key: []byte("acme"), Value: good.Value}, ReasonWrongKey, "zero byte"},
		{change(func(m *eventspb.AccountBudgets) { m.Currency = "EUX" }), ReasonInvalid, "currency: "},
		{change(func(m *eventspb.AccountBudgets) { m.TimeZone = "Mars" }), ReasonInvalid, "time_zone: "},
		{change(func(m *eventspb.AccountBudgets) { m.Campaigns[0].Limit.Micros = -1 }), ReasonInvalid, "campaigns[0].daily: the amount is negative"},
		{change(func(m *eventspb.AccountBudgets) { m.Campaigns = nil }), ReasonInvalid, "campaigns: the account has no campaign"},
		{change(func(m *eventspb.AccountBudgets) { m.Version = 0 }), ReasonInvalid, "version: "},
		{change(func(m *eventspb.AccountBudgets) { later(m.ProtoReflect()) }), ReasonInvalid, "update this datacentre"},
		{
			change(func(m *eventspb.AccountBudgets) { later(m.Campaigns[0].Limit.ProtoReflect()) }), ReasonInvalid,
			"campaigns[0].limit: a field that this version of weir does not know",
		},
		{
			change(func(m *eventspb.AccountBudgets) {
				m.Campaigns[0].Arms = []*eventspb.ArmShare{{Arm: "a", Ppm: budget.PPM}}
				later(m.Campaigns[0].Arms[0].ProtoReflect())
			}), ReasonInvalid, "campaigns[0].arms[0]: a field",
		},
		{
			change(func(m *eventspb.AccountBudgets) {
				flights := []*eventspb.Flight{{BeginDay: 20260101, EndDay: 20260102}, {BeginDay: 20260201, EndDay: 20260202}}
				m.Shared = []*eventspb.SharedBudget{{Id: "s", Limit: &eventspb.BudgetLimit{Kind: 1, Flights: flights}}}
				later(flights[1].ProtoReflect())
			}), ReasonInvalid, "shared[0].limit.flights[1]: a field",
		},
	} {
		r.AppendTo(copied(), c.rec)
		r.FoldAll()
		r.Commit(1)
		rejects := r.TakeRejects()
		if len(rejects) != 1 || rejects[0].Reason != c.reason || !strings.Contains(rejects[0].Detail, c.text) || rows(r) != before {
			t.Errorf("%s %s: %+v\n%s", c.reason, c.text, rejects, rows(r))
		}
	}
}

// TestWrongPartition: an account has one partition, in which all its versions are.
func TestWrongPartition(t *testing.T) {
	p, err := ProcessorConfig{DC: "eu"}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	at := events.Shard("acme", events.DefaultShards)
	for _, partition := range []int32{at, (at + 1) % events.DefaultShards} {
		r := streamtest.New(t, streamtest.Options{Processor: p, Partition: partition})
		r.AppendTo(events.BudgetsTopic, record(t, 1, 0, 1))
		r.FoldAll()
		r.Commit(1)
		rejects := r.TakeRejects()
		if partition == at && len(rejects) != 0 || partition != at && (len(rejects) != 1 || rejects[0].Reason != ReasonWrongPartition) {
			t.Errorf("partition %d: %+v", partition, rejects)
		}
	}
}
