package spendaudit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weirhq/weir/events/eventspb"
)

const epochMs = int64(1_767_600_000_000)

// event is an event of an origin.
type event struct {
	ms, price int64
	id        uint64
}

// draw returns events in the order of a log, whose times are not quite in order.
func draw(rng *rand.Rand, n int) (list []event) {
	at := epochMs
	for i := range n {
		at += rng.Int64N(20_000)
		list = append(list, event{at - rng.Int64N(3000), 1 + rng.Int64N(99), rng.Uint64() | uint64(i)<<60})
	}
	return list
}

// emit returns the records of a counter that has read the events at which keep is true, as package
// spendcounter emits them: all minutes but the last.
func emit(dc, origin string, list []event, keep func(i int) bool) (out []*eventspb.SpendAudit) {
	var open *eventspb.SpendAudit
	clock, lost := int64(0), uint64(0)
	for i, e := range list {
		if !keep(i) {
			lost++
			continue
		}
		clock = max(clock, e.ms)
		if minute := clock - clock%minuteMs; open == nil || open.MinuteMs < minute {
			if open != nil {
				out = append(out, open)
			}
			open = &eventspb.SpendAudit{WriterDc: dc, Origin: origin, MinuteMs: minute, FirstOffset: int64(i), Begins: open == nil, Incarnation: 1}
		}
		open.NextOffset, open.Lost, lost = int64(i)+1, open.Lost+lost, 0
		open.Events, open.Micros, open.Digest = open.Events+1, open.Micros+uint64(e.price), open.Digest+e.id
	}
	return out
}

func all(int) bool { return true }

func report(rng *rand.Rand, lists ...[]*eventspb.SpendAudit) *Report {
	var a Audit
	var records []*eventspb.SpendAudit
	for _, l := range lists {
		records = append(records, l...)
	}
	for _, i := range rng.Perm(len(records)) {
		a.Add(records[i])
	}
	return a.Report("us", "eu", "ap")
}

// TestLostCopies loses some copies in one datacentre: the differences have all of them and no
// others, and name the range of offsets.
func TestLostCopies(t *testing.T) {
	split := 0
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		list := draw(rng, 400)
		lost := map[int]bool{}
		for range rng.IntN(4) {
			from := 50 + rng.IntN(300)
			for i := from; i < from+1+rng.IntN(20); i++ {
				lost[i] = true
			}
		}
		r := report(rng, emit("eu", "us", list, all), emit("us", "us", list, all), emit("ap", "us", list, func(i int) bool { return !lost[i] }))
		var events, micros uint64
		for _, d := range r.Differences {
			if d.Sides[1].Lost != d.Sides[0].Events-d.Sides[1].Events {
				t.Fatalf("seed %d: the lost records are not those that are missing: %+v", seed, d)
			}
			if d.Sides[0].DC != "us" || d.Sides[1].DC != "ap" || d.Sides[2].DC != "eu" || d.Sides[2] != (Side{
				DC: "eu", Events: d.Sides[0].Events, Micros: d.Sides[0].Micros, Digest: d.Sides[0].Digest,
			}) {
				t.Fatalf("seed %d: %+v", seed, d)
			}
			events += d.Sides[0].Events - d.Sides[1].Events
			micros += d.Sides[0].Micros - d.Sides[1].Micros
			inside := 0
			for i := range lost {
				if int64(i) >= d.FirstOffset && int64(i) < d.NextOffset {
					inside++
				}
			}
			if want := int(d.Sides[0].Events - d.Sides[1].Events); inside != want {
				t.Fatalf("seed %d: %d lost in the offsets of %+v", seed, inside, d)
			}
		}
		var want uint64
		for i := range lost {
			want += uint64(list[i].price)
		}
		if int(events) != len(lost) || micros != want || (len(lost) == 0) != (len(r.Differences) == 0) {
			t.Fatalf("seed %d: %d events of %d micros are missing, %d of %d were lost: %+v", seed, events, micros, len(lost), want, r.Differences)
		}
		if len(r.Differences) > 1 {
			split++
		}
		for _, c := range r.Coverage {
			differs := 0
			if c.DC == "ap" {
				differs = len(r.Differences)
			}
			if c.Differs != differs || c.Minutes == 0 || c.DC == "ap" && c.Lost > uint64(len(lost)) {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
	if split == 0 {
		t.Error("no history has two differences")
	}
}

// TestAlteredEvent: one event in a thousand minutes has another price, or another id, in one
// datacentre. It is found, and the micros alone would not find the id.
func TestAlteredEvent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := draw(rng, 5000)
	for _, change := range []func(e *event){
		func(e *event) { e.price++; e.id += 3 },
		func(e *event) { e.id ^= 1 << 40 },
	} {
		altered := append([]event(nil), list...)
		change(&altered[2500])
		r := report(rng, emit("eu", "eu", list, all), emit("us", "eu", altered, all))
		if len(r.Differences) != 1 || r.Differences[0].FirstOffset > 2500 || r.Differences[0].NextOffset <= 2500 ||
			r.Differences[0].ToMs-r.Differences[0].FromMs != minuteMs {
			t.Errorf("%+v", r.Differences)
		}
	}
}

// TestCovered: what is compared if counters begin, end and begin again at different times.
func TestCovered(t *testing.T) {
	row := func(dc string, minute int64, events uint64) *eventspb.SpendAudit {
		return &eventspb.SpendAudit{WriterDc: dc, Origin: "eu", MinuteMs: epochMs + minute*minuteMs, Events: events, Incarnation: 1}
	}
	rows := func(dc string, from, to int64) (list []*eventspb.SpendAudit) {
		for m := from; m <= to; m++ {
			list = append(list, row(dc, m, 10))
		}
		list[0].Begins = true
		return list
	}
	newState := func(list []*eventspb.SpendAudit) []*eventspb.SpendAudit {
		for _, m := range list {
			m.Incarnation = 2
		}
		list[0].Events = 3 // it begins within the minute
		return list
	}
	late := rows("us", 5, 20)
	late[0].Events, late[1].Events = 4, 12                                 // it has not seen the greater ingest times before minute 5
	gap := append(rows("us", 0, 8), rows("us", 10, 20)[1:]...)             // without minutes 9 and 10
	restarted := append(rows("us", 0, 8), rows("us", 11, 20)...)           // an earlier version ran in between, which emits nothing
	hole := newState(append(rows("us", 6, 10), rows("us", 15, 20)[1:]...)) // the new state lacks minutes 11 to 15
	lossy := rows("us", 0, 20)
	lossy[7].Events, lossy[8].Events = 9, 11 // the same sum: the record that begins minute 8 is in both
	for name, c := range map[string]struct {
		lists   [][]*eventspb.SpendAudit
		minutes int
		differs []string
	}{
		"one counter":            {[][]*eventspb.SpendAudit{rows("eu", 0, 20)}, 0, nil},
		"equal":                  {[][]*eventspb.SpendAudit{rows("eu", 0, 20), rows("us", 0, 20)}, 19, nil},
		"one began later":        {[][]*eventspb.SpendAudit{rows("eu", 0, 20), late}, 14, nil},
		"one is behind":          {[][]*eventspb.SpendAudit{rows("eu", 0, 20), rows("us", 0, 12)}, 11, nil},
		"one has begun again":    {[][]*eventspb.SpendAudit{rows("eu", 0, 20), rows("us", 0, 12), newState(rows("us", 6, 20))}, 17, nil},
		"one had no audit":       {[][]*eventspb.SpendAudit{rows("eu", 0, 20), restarted}, 15, nil},
		"a new state has a hole": {[][]*eventspb.SpendAudit{rows("eu", 0, 20), rows("us", 0, 20), hole}, 17, []string{"11-16 eu:50 us:0"}},
		"minutes are missing":    {[][]*eventspb.SpendAudit{rows("eu", 0, 20), gap}, 19, []string{"9-11 eu:20 us:0"}},
		"a shifted minute":       {[][]*eventspb.SpendAudit{rows("eu", 0, 20), lossy}, 19, nil},
		"a third one is behind":  {[][]*eventspb.SpendAudit{rows("eu", 0, 20), gap, rows("ap", 3, 9)}, 19, []string{"9-10 eu:10 ap:10 us:0", "10-11 eu:10 us:0"}},
	} {
		r := report(rand.New(rand.NewPCG(1, 1)), c.lists...)
		minutes := 0
		for _, v := range r.Coverage {
			minutes = max(minutes, v.Minutes)
		}
		var differs []string
		for _, d := range r.Differences {
			text := fmt.Sprintf("%d-%d", (d.FromMs-epochMs)/minuteMs, (d.ToMs-epochMs)/minuteMs)
			for _, s := range d.Sides {
				text += fmt.Sprintf(" %s:%d", s.DC, s.Events)
			}
			differs = append(differs, text)
		}
		if minutes != c.minutes || !reflect.DeepEqual(differs, c.differs) {
			t.Errorf("%s: %d minutes, %q; want %d, %q", name, minutes, differs, c.minutes, c.differs)
		}
	}
}

// TestLateCounter: a counter that begins anywhere in the log agrees with one that has read it from
// the start, although ingest times are not in order.
func TestLateCounter(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		list := draw(rng, 200)
		from := rng.IntN(200)
		r := report(rng, emit("us", "us", list, all), emit("eu", "us", list, func(i int) bool { return i >= from }))
		if len(r.Differences) > 0 {
			t.Fatalf("seed %d: %+v", seed, r.Differences)
		}
		compared += r.Coverage[1].Minutes // of eu; ap has nothing
	}
	if compared < 300 {
		t.Errorf("%d minutes were compared", compared)
	}
}

// TestIncomplete: the coverage has the shards of which a counter has nothing, and how far one is
// behind the others.
func TestIncomplete(t *testing.T) {
	var a Audit
	add := func(dc string, shard int32, minutes ...int64) {
		for _, m := range minutes {
			a.Add(&eventspb.SpendAudit{WriterDc: dc, Origin: "eu", Shard: shard, MinuteMs: epochMs + m*minuteMs})
		}
	}
	add("eu", 1, 0, 1, 2, 3)
	add("us", 1, 0, 1)
	add("eu", 2, 5, 6)
	r := a.Report("eu", "us", "ap")
	got := map[string][3]int64{}
	for _, c := range r.Coverage {
		got[c.DC] = [3]int64{int64(c.Shards), int64(c.Missing), c.BehindMs / minuteMs}
	}
	if want := map[string][3]int64{"eu": {2, 0, 0}, "us": {1, 1, 2}, "ap": {0, 2, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
