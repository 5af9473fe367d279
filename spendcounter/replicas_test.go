package spendcounter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// history is the records of three datacentres, in the order of each. Some events arrive in several
// datacentres, or several times in one, with their own ingest times.
type history [3][]*eventspb.AdEvent

func replicaDCs() [3]string { return [3]string{ownDC, otherDC, thirdDC} }

func newHistory(rng *rand.Rand) (h history) {
	oneOf := func(list ...int64) int64 { return list[rng.IntN(len(list))] * 1000 }
	window := testConfig().DuplicateWindow.Milliseconds()
	var made []*eventspb.AdEvent
	now := epochMs
	for i := range 60 {
		now += oneOf(0, 1, 1, 5, 40)
		e := &eventspb.AdEvent{Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT}
		switch {
		case rng.IntN(12) == 0:
		case len(made) > 0 && rng.IntN(3) == 0:
			e = proto.CloneOf(made[max(0, len(made)-12)+rng.IntN(min(12, len(made)))])
		default:
			e = eventAt(i, now-oneOf(0, 0, 0, 3, 30, 89, 300)-rng.Int64N(2)*window)
			e.IngestMs, e.PriceMicros, e.ServingDc = 0, rng.Int64N(99), replicaDCs()[rng.IntN(3)]
			e.Campaign = fmt.Sprint("c", rng.IntN(5))
			e.LineItem, e.Arm = fmt.Sprint("l", rng.IntN(3)), fmt.Sprint("a", rng.IntN(2))
			made = append(made, e)
			e = proto.CloneOf(e)
		}
		e.IngestMs = now - oneOf(0, 0, 0, 5, 9, 11, 100)
		at := rng.IntN(3)
		h[at] = append(h[at], e)
	}
	for i := range h { // in the end every origin is past every bucket
		h[i] = append(h[i], beatAt(now+10*window))
	}
	return h
}

// interleaving returns for each record the datacentre whose next record it is: all records of one
// datacentre after the other, or at random in runs of different lengths.
func (h *history) interleaving(rng *rand.Rand) (order []int) {
	left, mode := [3]int{len(h[0]), len(h[1]), len(h[2])}, rng.IntN(3)
	for left != [3]int{} {
		k, run := rng.IntN(3), 1+rng.IntN(1+rng.IntN(30))
		if mode > 0 {
			for k = 0; left[k] == 0; k++ {
			}
		}
		if mode == 2 {
			for k = 2; left[k] == 0; k-- {
			}
		}
		for ; run > 0 && left[k] > 0; run-- {
			left[k]--
			order = append(order, k)
		}
	}
	return order
}

// fold counts the history in the datacentre dc, in batches, with commits and restarts at random.
func (h *history) fold(t *testing.T, rng *rand.Rand, dc int) (*Counter, *store) {
	cfg := testConfig()
	cfg.DC, cfg.Inputs.Copied, cfg.Inputs.CopiedAdjustments = replicaDCs()[dc], map[string]string{}, nil
	topics := [3]string{}
	for i, name := range replicaDCs() {
		if topics[i] = events.EventsTopic; i != dc {
			topics[i] = events.CopiedEventsTopic(name)
			cfg.Inputs.Copied[topics[i]] = name
		}
	}
	s := newStore()
	c := mustNew(t, cfg, s)
	var recs [3][]stream.Record
	for i, list := range h {
		for j, e := range list {
			recs[i] = append(recs[i], stream.Record{
				Value: marshal(t, e), Offset: int64(j), TimeMs: e.IngestMs,
				Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: int64(j), Previous: int64(j) - 1})}},
			})
		}
	}
	order := h.interleaving(rng)
	for len(order) > 0 {
		k, n := order[0], 1
		for n < len(order) && order[n] == k && rng.IntN(8) > 0 {
			n++
		}
		order = order[n:]
		from := s.next[topics[k]]
		b := &stream.Batch{Topic: topics[k], Partition: 3, Records: recs[k][from : from+int64(n)]}
		if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
		s.next[topics[k]] += int64(n)
		if rng.IntN(4) > 0 {
			continue
		}
		if s.flush(t, c, epochMs); rng.IntN(16) > 0 {
			continue
		}
		if rng.IntN(2) == 0 {
			s.localNext = nil
		}
		c = mustNew(t, cfg, s)
		for i, topic := range topics {
			b := &stream.Batch{Topic: topic, Partition: 3, Records: recs[i][c.RebuildFrom()[topic]:s.next[topic]]}
			if err := c.Rebuild(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.flush(t, c, epochMs)
	return c, s
}

// figures folds the history and returns the figures that all replicas must share.
func (h *history) figures(t *testing.T, rng *rand.Rand, dc int) map[string]string {
	c, s := h.fold(t, rng, dc)
	out := map[string]string{}
	for key, p := range s.spends(t) {
		p.OwnerEpoch, p.Sequence, p.AsOfOffset = 0, 0, 0
		out[key] = p.String()
	}
	for key, value := range s.tables[TableParts] {
		out["part "+key] = string(Canonical(TableParts, nil, value))
	}
	state := s.taskState(t)
	for _, o := range state.Origins {
		out[o.Dc] = fmt.Sprint(o.WatermarkMs, o.Late, o.Lost)
	}
	out["task"] = fmt.Sprint(state.TimestampMs, state.Duplicates, state.Conflicts, state.LateBeforeMs, state.ServingDcs, c.micros)
	for _, p := range s.audits {
		p.WriterDc, p.Sequence = "", 0
		out[fmt.Sprint("audit ", p.Origin, p.MinuteMs)] = p.String()
	}
	out["ids"] = fmt.Sprint(c.Stats().IDs, c.Stats().Buckets)
	return out
}

// clockWindow counts the history with a window by the greatest ingest time of all origins, as the
// counter did before it had buckets: what is a duplicate depends on the interleaving.
func (h *history) clockWindow(rng *rand.Rand) string {
	var clock, turned int64
	var at [3]int
	now, old, micros := map[string]bool{}, map[string]bool{}, int64(0)
	for _, k := range h.interleaving(rng) {
		e := h[k][at[k]]
		at[k]++
		clock = max(clock, e.IngestMs)
		if clock-turned >= testConfig().DuplicateWindow.Milliseconds() {
			now, old, turned = map[string]bool{}, now, clock
		}
		if e.EventId != "" && !now[e.EventId] && !old[e.EventId] {
			micros += e.PriceMicros
		}
		now[e.EventId] = true
	}
	return fmt.Sprint(micros)
}

// firstCome returns the pairs of a campaign that have rows if those that come first have them.
func (h *history) firstCome(rng *rand.Rand) string {
	var at [3]int
	kept := map[string]bool{}
	for _, k := range h.interleaving(rng) {
		e := h[k][at[k]]
		at[k]++
		if e.Campaign == "c0" && len(kept) < testConfig().Parts {
			kept[e.LineItem+e.Arm] = true
		}
	}
	return fmt.Sprint(kept)
}

// TestReplicasAgree: replicas that folded the same records of each origin, interleaved in any way,
// have the same spend, duplicates and late events. The window by a clock of all origins fails the
// same test, and so do parts that have rows because they come first.
func TestReplicasAgree(t *testing.T) {
	const histories = 1000
	failed, unlike, late, duplicates := 0, 0, 0, 0
	for seed := range uint64(histories) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := newHistory(rng)
		want := h.figures(t, rng, 0)
		if got := h.figures(t, rng, 1+rng.IntN(2)); !maps.Equal(got, want) {
			t.Fatalf("history %d: one replica has\n%v\nanother\n%v", seed, want, got)
		}
		if one, other := h.clockWindow(rng), h.clockWindow(rng); one != other {
			failed++
		}
		if one, other := h.firstCome(rng), h.firstCome(rng); one != other {
			unlike++
		}
		var ms, n, lost uint64
		for _, dc := range replicaDCs() {
			if _, err := fmt.Sscan(want[dc], &ms, &n, &lost); err != nil {
				t.Fatal(err)
			}
			late += int(n)
		}
		if _, err := fmt.Sscan(want["task"], &ms, &n); err != nil {
			t.Fatal(err)
		}
		duplicates += int(n)
	}
	if failed < histories/2 {
		t.Errorf("the window by a clock differs in %d of %d histories: the histories are too easy", failed, histories)
	}
	if unlike < histories/4 {
		t.Errorf("the parts that come first differ in %d of %d histories: the histories are too easy", unlike, histories)
	}
	if late < histories || duplicates < histories {
		t.Errorf("%d late events and %d duplicates in %d histories: the histories are too easy", late, duplicates, histories)
	}
}
