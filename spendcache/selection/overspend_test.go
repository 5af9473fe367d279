package selection

import "testing"

// freeClicks serves a campaign with a budget of 100 USD at 0.01 USD a click, one click a second,
// until the spend that the reader sees has reached the budget, and returns the number of clicks
// beyond the budget. The dataset of the reader's own datacentre loses 10 USD of the events: all for
// 1,000 s. choose returns the dataset from which the spend is read. unnoticed: the counter does not
// know what it has lost.
func freeClicks(seed uint64, unnoticed bool, choose func(Decision) string) int {
	const budget = 10_000
	w := newSimulation(seed, 1000, "eu", "us", "ap")
	w.click, w.unnoticed = true, unnoticed
	for served := 0; ; served++ {
		switch served {
		case 2000:
			w.lost[0][0] = 1
		case 3000:
			w.lost[0][0] = 0
		}
		if d := w.step(); w.clicksIn(choose(d)) >= budget {
			return served + 1 - budget
		}
	}
}

// TestFreeClicks is the story of the seed, "$10 of events lost": with the own dataset alone, 1,000
// clicks are free; with the dataset that is chosen, at most 10. Without the count of lost records,
// the reader would return to the own dataset after the loss.
func TestFreeClicks(t *testing.T) {
	chosen := func(d Decision) string { return d.DC }
	worst := 0
	for seed := range uint64(20) {
		if n := freeClicks(seed, false, func(Decision) string { return "eu" }); n < 1000 || n > 1010 {
			t.Errorf("seed %d: %d free clicks with the own dataset alone, want 1,000", seed, n)
		}
		if n := freeClicks(seed, true, chosen); n < 500 {
			t.Errorf("seed %d: %d free clicks without the count of lost records: the test would not notice that it is ignored", seed, n)
		}
		n := freeClicks(seed, false, chosen)
		if worst = max(worst, n); n < 0 || n > 10 {
			t.Errorf("seed %d: %d free clicks with the chosen dataset, want at most 10", seed, n)
		}
	}
	t.Logf("at most %d free clicks with the chosen dataset", worst)
}
