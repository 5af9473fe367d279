package loadgen

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAliasHasTheWeights computes the exact probabilities of the table and compares them with the
// weights.
func TestAliasHasTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e3), 1, 200).Draw(t, "weights")
		a := newAliasTable(weights)
		got := make([]float64, len(weights))
		total := 0.0
		for i, s := range a {
			p := float64(s.limit) / math.MaxUint32
			got[i] += p
			got[s.alias] += 1 - p
			total += weights[i]
		}
		for i := range got {
			if share, want := got[i]/float64(len(a)), weights[i]/total; math.Abs(share-want) > 1e-9 {
				t.Fatalf("entry %d: probability %v, want %v", i, share, want)
			}
		}
	})
}

// TestAliasSample checks the borders of slots and limits.
func TestAliasSample(t *testing.T) {
	a := aliasTable{{limit: math.MaxUint32, alias: 0}, {limit: 100, alias: 2}, {limit: 1 << 31, alias: 0}, {limit: math.MaxUint32, alias: 3}}
	for _, c := range []struct {
		high, low uint32
		want      int
	}{
		{0, math.MaxUint32, 0},
		{1 << 30, 100, 1},
		{1 << 30, 101, 2},
		{1<<31 - 1, 0, 1},
		{1 << 31, 1 << 31, 2},
		{1 << 31, 1<<31 + 1, 0},
		{math.MaxUint32, math.MaxUint32, 3},
	} {
		if got := a.sample(uint64(c.high)<<32 | uint64(c.low)); got != c.want {
			t.Errorf("sample(%d, %d) = %d, want %d", c.high, c.low, got, c.want)
		}
	}
}

func TestZipfAndEven(t *testing.T) {
	const n, campaigns = 100_000, 1000
	for _, c := range []struct {
		name string
		s    float64
		head float64 // share of the first campaign
	}{{"even", Even, 1.0 / campaigns}, {"1.1", 1.1, 0.17866}} { // 1 / sum of r^-1.1 over 1,000 ranks
		g := mustNew(t, Config{Seed: 1, Zipf: c.s, Accounts: 100, CampaignsPerAccount: 10, Flat: true, ClickRate: -1, DuplicateRate: -1})
		first := 0.0
		names := map[string]bool{}
		for range n {
			e := g.Next(noon)
			names[e.Campaign] = true
			if e.Campaign == g.campaigns[0].name() {
				first++
			}
		}
		near(t, c.name, first, n, c.head)
		if len(names) != campaigns {
			t.Errorf("%s: %d campaigns had traffic, want %d", c.name, len(names), campaigns)
		}
	}
}

// TestClicksComeInOrder compares the heap with a sorted slice.
func TestClicksComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap clickHeap
		var plain []int64
		for i, op := range rapid.SliceOf(rapid.Int64Range(-20, 20)).Draw(t, "ops") {
			if op >= 0 {
				heap.push(event{eventMs: op, insertionID: uint64(i)})
				plain = append(plain, op)
				slices.Sort(plain)
				continue
			}
			now := -op
			e, ok := heap.pop(now)
			if want := len(plain) > 0 && plain[0] <= now; ok != want {
				t.Fatalf("pop(%d) = %v with %v waiting", now, ok, plain)
			}
			if ok {
				if e.eventMs != plain[0] {
					t.Fatalf("popped %d, the earliest is %d", e.eventMs, plain[0])
				}
				plain = plain[1:]
			}
		}
		if len(heap) != len(plain) {
			t.Fatalf("%d wait, want %d", len(heap), len(plain))
		}
	})
}

func TestWaitingClicksAreBounded(t *testing.T) {
	var heap clickHeap
	for i := range maxPending + 10 {
		heap.push(event{eventMs: int64(i)})
	}
	if len(heap) != maxPending {
		t.Errorf("%d clicks wait, want %d", len(heap), maxPending)
	}
}

// TestPacerIsExact: for every spacing of the ticks, the number of events is the rate times the
// time.
func TestPacerIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(0, maxRate).Draw(t, "rate")
		p, err := NewPacer(rate)
		if err != nil {
			t.Fatal(err)
		}
		start := time.UnixMilli(noon)
		now, taken := start, int64(p.Take(start))
		for _, d := range rapid.SliceOf(rapid.Int64Range(0, int64(maxPause))).Draw(t, "ticks") {
			now = now.Add(time.Duration(d))
			taken += int64(p.Take(now))
		}
		elapsed := int64(now.Sub(start))
		want := elapsed/1e9*rate + elapsed%1e9*rate/1e9
		if taken != want {
			t.Fatalf("took %d in %v at %d/s, want %d", taken, now.Sub(start), rate, want)
		}
	})
}

func TestPacerAtTheEdges(t *testing.T) {
	p, err := NewPacer(1000)
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(noon)
	for _, c := range []struct {
		name string
		at   time.Duration
		want int
	}{
		{"the first call", 0, 0},
		{"10 ms", 10 * time.Millisecond, 10},
		{"the same time", 10 * time.Millisecond, 0},
		{"after a minute's pause", time.Minute, 1000},
		{"the clock went back", 0, 0},
		{"and runs again", time.Millisecond, 1},
	} {
		if got := p.Take(start.Add(c.at)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if err := p.SetRate(500_000); err != nil {
		t.Fatal(err)
	}
	if got := p.Take(start.Add(3 * time.Millisecond)); got != 1000 {
		t.Errorf("at the new rate: %d, want 1000", got)
	}
	for _, rate := range []int64{-1, maxRate + 1} {
		if err := p.SetRate(rate); err == nil {
			t.Errorf("rate %d was accepted", rate)
		}
	}
}
