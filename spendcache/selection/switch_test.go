package selection

import (
	"slices"
	"testing"
)

// fault is what happens to the dataset of the reader's own datacentre.
type fault struct {
	name         string
	begin, end   func(w *simulation)
	within, back int // seconds: bounds of the 99th percentiles
}

func faults() []fault {
	return []fault{
		{
			"a quarter of the events is lost",
			func(w *simulation) { all(w.lost[0], 0.25) }, func(w *simulation) { all(w.lost[0], 0) },
			15, 0,
		},
		{
			"the counter lags",
			func(w *simulation) { all(w.stalled[0], true) }, func(w *simulation) { all(w.stalled[0], false) },
			9, 35,
		},
		{
			"the events of one origin stop",
			func(w *simulation) { w.stalled[0][1] = true }, func(w *simulation) { w.stalled[0][1] = false },
			9, 35,
		},
		{
			"the counter is dead",
			func(w *simulation) { w.dead[0] = true }, func(w *simulation) { w.dead[0] = false },
			9, 35,
		},
	}
}

// switchTimes returns the seconds until another dataset was chosen, and until the reader's own was
// chosen again after the end of the fault.
func switchTimes(seed uint64, f fault, set func(*simulation)) (left, back int) {
	w := newSimulation(seed, 1000, "eu", "us", "ap")
	if set != nil {
		set(w)
	}
	f.begin(w)
	for left = 1; w.step().DC == "eu"; left++ {
		if left == 300 {
			return left, 0
		}
	}
	for range 60 {
		w.step()
	}
	f.end(w)
	for back = 1; w.step().DC != "eu"; back++ {
		if back == 300 {
			return left, back
		}
	}
	return left, back
}

func percentile(list []int, p float64) int {
	slices.Sort(list)
	return list[min(len(list)-1, int(p*float64(len(list))))]
}

// TestSwitchTimes measures over many seeds how soon a reader leaves a dataset with a fault, and how
// soon it returns.
func TestSwitchTimes(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 100
	}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var left, back []int
			for seed := range seeds {
				l, b := switchTimes(seed, f, nil)
				left, back = append(left, l), append(back, b)
			}
			t.Logf("left after %d s (median), %d s (99th percentile); back after %d s, %d s", percentile(left, 0.5), percentile(left, 0.99), percentile(back, 0.5), percentile(back, 0.99))
			if got := percentile(left, 0.99); got > f.within {
				t.Errorf("left after %d s, want at most %d s", got, f.within)
			}
			if got := percentile(back, 0.99); f.back > 0 && got > f.back {
				t.Errorf("back after %d s, want at most %d s", got, f.back)
			}
		})
	}
}

// falseSwitches returns the number of switches in seconds in which no fault begins or ends.
func falseSwitches(seed uint64, seconds int, set func(*simulation)) (n int) {
	w := newSimulation(seed, 1000, "eu", "us", "ap")
	if set != nil {
		set(w)
	}
	was := w.step().DC
	for range seconds {
		dc := w.step().DC
		if dc != was {
			n++
		}
		was = dc
	}
	return n
}

// TestFalseSwitches: without a fault the choice stays.
func TestFalseSwitches(t *testing.T) {
	n := 0
	for seed := range uint64(10) {
		n += falseSwitches(seed, 3000, nil)
	}
	if n > 3 {
		t.Errorf("%d switches in 30,000 seconds without a fault, want less than one in 10,000", n)
	}
}

// BenchmarkFalseSwitches measures switches per shard-second without a fault.
func BenchmarkFalseSwitches(b *testing.B) {
	n := 0
	const each = 10_000
	for i := 0; i < b.N; i += each {
		n += falseSwitches(uint64(i), min(each, b.N-i), nil)
	}
	b.ReportMetric(float64(n)/float64(b.N), "switches/s")
}

// TestHysteresis: a dataset that loses as many events as it may is left a few times an hour, and
// not at each change of the figures.
func TestHysteresis(t *testing.T) {
	atTheBorder := func(w *simulation) { all(w.lost[0], w.sel.cfg.Deficit); w.unnoticed = true }
	n, without := 0, 0
	for seed := range uint64(5) {
		n += falseSwitches(seed, 3600, atTheBorder)
		without += falseSwitches(seed, 3600, func(w *simulation) {
			atTheBorder(w)
			w.sel.cfg.LeaveAfter, w.sel.cfg.ReturnAfter = 1, 1
		})
	}
	t.Logf("%d switches in 5 hours, %d without hysteresis", n, without)
	if n > 5*20 || without < 10*n {
		t.Errorf("%d switches in 5 hours, %d without hysteresis", n, without)
	}
}

// catchUp stops the events of the reader's own dataset for two minutes, and returns by how many
// seconds the chosen one is behind at most while the counter catches up at twice the speed.
func catchUp(seed uint64, processing bool) (most float64) {
	w := newSimulation(seed, 1000, "eu", "us", "ap")
	w.processing, w.speed = processing, 2
	for range 120 {
		w.step()
	}
	all(w.stalled[0], true)
	for range 120 {
		w.step()
	}
	all(w.stalled[0], false)
	for range 150 {
		d := w.step()
		most = max(most, w.behind(d.DC))
	}
	return most
}

// TestCatchUp: a counter that catches up folds twice as many events, and its dataset is not
// complete for that. By processing time, as in the seed, it would seem to have more events than
// others.
func TestCatchUp(t *testing.T) {
	var worst float64
	for seed := range uint64(30) {
		if got := catchUp(seed, false); got > 11 {
			t.Errorf("seed %d: chose a dataset that is %.1f s behind", seed, got)
		}
		worst = max(worst, catchUp(seed, true))
	}
	if worst < 15 {
		t.Errorf("with counts by processing time the chosen dataset is at most %.1f s behind: this test would not notice them", worst)
	}
}
