package spendcounter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// changePrices gives the copies of an event other prices at random. It returns the greatest
// difference that the choice of the charged copies can make to the sum of all charges.
func (h *history) changePrices(rng *rand.Rand) (most int64) {
	type bounds struct{ least, greatest int64 }
	prices := map[string]*bounds{}
	for _, list := range h {
		for _, e := range list {
			switch b := prices[e.EventId]; {
			case e.EventId == "": // a heartbeat
			case b == nil:
				prices[e.EventId] = &bounds{e.PriceMicros, e.PriceMicros}
			default:
				e.PriceMicros = rng.Int64N(99)
				b.least, b.greatest = min(b.least, e.PriceMicros), max(b.greatest, e.PriceMicros)
			}
		}
	}
	for _, b := range prices {
		most += b.greatest - b.least
	}
	return most
}

// TestReplicasOfConflictingCopies: if the copies of an event differ in price, each replica charges
// exactly one of them. So replicas that folded the same records differ at most by the prices of
// these copies, which are counted as conflicts. They agree in everything but prices.
func TestReplicasOfConflictingCopies(t *testing.T) {
	const histories = 100
	differ, conflicts := 0, uint64(0)
	for seed := range uint64(histories) {
		rng := rand.New(rand.NewPCG(seed, 2))
		h := newHistory(rng)
		most := h.changePrices(rng)
		var counts [2]map[string]string
		var micros [2]int64
		for i := range 2 {
			c, s := h.fold(t, rng, i)
			micros[i], counts[i] = c.micros, map[string]string{}
			for key, p := range s.spends(t) {
				counts[i][key] = fmt.Sprint(p.Duplicates)
				for _, dc := range p.ByDc {
					counts[i][key] += fmt.Sprint(" ", dc.ServingDc, dc.Events)
				}
			}
			for _, o := range s.taskState(t).Origins {
				counts[i][o.Dc] = fmt.Sprint(o.WatermarkMs, o.Late, o.Lost)
			}
			conflicts += c.conflicts
		}
		if !maps.Equal(counts[0], counts[1]) {
			t.Fatalf("history %d: one replica has\n%v\nanother\n%v", seed, counts[0], counts[1])
		}
		if d := micros[0] - micros[1]; d > most || -d > most {
			t.Fatalf("history %d: the charges are %d and %d, copies differ by %d at most", seed, micros[0], micros[1], most)
		}
		if micros[0] != micros[1] {
			differ++
		}
	}
	if differ < histories/4 || conflicts < histories {
		t.Errorf("charges differ in %d of %d histories, with %d conflicts: the histories are too easy", differ, histories, conflicts)
	}
}
