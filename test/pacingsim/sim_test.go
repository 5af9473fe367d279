//go:build synctests

package pacingsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/test/seeds"
)

func daily(units float64) budget.Limit {
	return budget.Limit{Kind: budget.Daily, Micros: int64(units * 1e6)}
}

// document returns the budgets of the simulation. Some campaigns want more than they may spend, and
// some less.
func document(t *testing.T) (d *budget.Document, demand map[string]float64) {
	t.Helper()
	d = &budget.Document{
		Account: account, Version: 1, Zone: "UTC", Currency: currency,
		Shared: []budget.Shared{{ID: "brand", Limit: daily(250)}},
		Campaigns: []budget.Campaign{
			{ID: "big", Limit: daily(800)},
			{ID: "experiment", Limit: daily(300), Arms: []budget.Arm{{ID: "x", PPM: 700_000}, {ID: "y", PPM: 300_000}}},
			{ID: "quiet", Limit: daily(900)},
			{ID: "red", Shared: "brand", Limit: daily(200)},
			{ID: "blue", Shared: "brand", Limit: daily(200)},
			{ID: "small", Limit: daily(60)},
		},
	}
	d, err := budget.FromRecord(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	return d, map[string]float64{"big": 3, "experiment": 1.5, "quiet": 0.5, "red": 1, "blue": 0.5, "small": 0.5}
}

// inBubble runs f in virtual time, which begins at midnight.
func inBubble(t *testing.T, m mutation, f func(t *testing.T, w *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newSimulation(t, seeds.Number(t, "WEIR_TEST_SIM_SEED", 1), 1, m)) })
}

func at(h, m int) time.Duration { return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute }

// faults are those of a day.
func faults() []Fault {
	return []Fault{
		{Kind: Unread, From: at(2, 0), To: at(2, 30)},
		{Kind: Stale, From: at(5, 0), To: at(5, 30)},
		{Kind: Down, From: at(7, 0), To: at(7, 0) + 8*time.Second},
		{Kind: Down, From: at(8, 30), To: at(8, 35)},
		{Kind: Cut, From: at(10, 0), To: at(10, 5), Server: 0},
		{Kind: Cut, From: at(11, 0), To: at(11, 40), Server: 1},
		{Kind: Unread, From: at(17, 0), To: at(17, 30)},
		{Kind: Cut, From: at(18, 0), To: at(18, 5), Server: 2},
		{Kind: Stale, From: at(20, 0), To: at(20, 30)},
		{Kind: Down, From: at(21, 15), To: at(21, 18)},
	}
}

// TestDay: the budgets of a day are kept, and used, also if each part of the service is away for a
// time.
func TestDay(t *testing.T) {
	late := []Fault{{Kind: Stale, From: at(22, 20), To: at(22, 50)}, {Kind: Down, From: at(22, 45), To: at(22, 48)}}
	days := map[string][]Fault{"no faults": nil, "faults": faults(), "late faults": late}
	if testing.Short() { // a day takes 20 s under the race detector
		days = map[string][]Fault{"faults": faults()}
	}
	for name, list := range days {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "", func(t *testing.T, w *simulation) {
				w.run(t.Context(), day, list)
				for _, err := range w.check(mostOver, t.Logf) {
					t.Error(err)
				}
			})
		})
	}
}

// TestFourDatacentres: the controllers of four datacentres, each with its own ad servers, act on
// the same spend. They keep the budgets together, and each uses its part of them, also if one reads
// the spend late, for some hours not at all, is away, or is not heard by the others.
func TestFourDatacentres(t *testing.T) {
	const dcs, last = 4, 3
	for name, list := range map[string][]Fault{
		"no faults": nil,
		"one is stale": {
			{Kind: Stale, DC: last, From: at(3, 0), To: at(3, 30)},
			{Kind: Stale, DC: last, From: at(9, 0), To: at(12, 0)},
			{Kind: Stale, DC: last, From: at(22, 0), To: at(22, 50)},
		},
		"one is not heard": {
			{Kind: Unheard, DC: 0, From: at(2, 0), To: at(8, 0)},
			{Kind: Unheard, DC: last, From: at(10, 0), To: at(16, 0)},
		},
		"one is away": {
			{Kind: Down, DC: last, From: at(4, 0), To: at(4, 5)},
			{Kind: Down, DC: last, From: at(10, 0), To: at(14, 0)},
			{Kind: Down, DC: last, From: at(21, 0), To: at(21, 30)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimulation(t, seeds.Number(t, "WEIR_TEST_SIM_SEED", 1), dcs, "")
				w.services[last].lag = 25 * time.Second
				w.run(t.Context(), day, list)
				far := farPart
				if strings.Contains(name, "away") || strings.Contains(name, "stale") {
					far = awayPart
				}
				for _, err := range append(w.check(mostOver, t.Logf), w.checkParts(far, t.Logf)...) {
					t.Error(err)
				}
			})
		})
	}
}

// TestDrift: datacentres that do not know each other's parameters do not have equal parts of the
// budgets.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimulation(t, seeds.Number(t, "WEIR_TEST_SIM_SEED", 1), 4, drifts)
		w.services[3].lag = 25 * time.Second
		w.run(t.Context(), day, []Fault{{Kind: Stale, DC: 3, From: at(9, 0), To: at(12, 0)}})
		if wrong := w.checkParts(farPart, t.Logf); len(wrong) == 0 {
			t.Error("all have spent their parts")
		}
	})
}

// TestSeeds: the budgets of days with faults that seeds draw are kept. WEIR_TEST_SIM_SEED has the
// first seed, and WEIR_TEST_SIM_SEEDS their number.
func TestSeeds(t *testing.T) {
	first, many := seeds.Number(t, "WEIR_TEST_SIM_SEED", 1), seeds.Number(t, "WEIR_TEST_SIM_SEEDS", 2)
	for seed := first; seed < first+many; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				dcs := 1 + rng.IntN(4)
				list := drawFaults(rng, dcs)
				w := newSimulation(t, seed, dcs, "")
				w.idle = true
				for _, s := range w.services {
					s.lag = time.Duration(1+rng.IntN(20)) * time.Second
				}
				w.run(t.Context(), day, list)
				var lines []string
				wrong := w.check(mostOverAny, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
				t.Log(lines[len(lines)-1])
				if len(wrong) > 0 {
					t.Errorf("%d datacentres, faults %v: %v\n%s", dcs, list, wrong, strings.Join(lines, "\n"))
				}
			})
		})
	}
}

// drawFaults draws up to twelve faults of up to an hour: some of all datacentres.
func drawFaults(rng *rand.Rand, dcs int) (list []Fault) {
	for range rng.IntN(13) {
		f := Fault{
			Kind: []Kind{Unread, Stale, Down, Cut, Unheard}[rng.IntN(5)], From: time.Duration(rng.IntN(86_400)) * time.Second, DC: rng.IntN(dcs+1) - 1,
			Server: rng.IntN(servers+1) - 1,
		}
		f.To = f.From + time.Duration(float64(time.Hour)*math.Pow(rng.Float64(), 3))
		list = append(list, f)
	}
	return list
}

// TestDayNotices: without one of the rules for old data, the budgets of the same day are not kept.
func TestDayNotices(t *testing.T) {
	for m, list := range map[mutation][]Fault{
		believes:   {{Kind: Stale, From: at(22, 20), To: at(22, 50)}},
		neverStops: {{Kind: Cut, From: at(21, 0), To: day, Server: 1}},
	} {
		t.Run(string(m), func(t *testing.T) {
			inBubble(t, m, func(t *testing.T, w *simulation) {
				w.run(t.Context(), day, list)
				wrong := w.check(mostOver, t.Logf)
				if t.Log(wrong); len(wrong) == 0 {
					t.Error("nothing is wrong")
				}
			})
		})
	}
}

// TestCut: a campaign whose budget is cut below its spend stops within two ticks and the time for
// which ad servers keep parameters.
func TestCut(t *testing.T) {
	inBubble(t, "", func(t *testing.T, w *simulation) {
		w.run(t.Context(), at(1, 0), nil)
		d := *w.doc
		d.Version, d.Campaigns = 2, slices.Clone(d.Campaigns)
		d.Campaigns[0].Limit = daily(1) // big
		w.setBudgets(&d)
		big := w.campaigns[0]
		before := big.charged[0]
		w.run(t.Context(), at(1, 0)+2*control.Tick+5500*time.Millisecond, nil)
		stopped := big.total()
		w.run(t.Context(), at(1, 10), nil)
		if before < 1e6 || big.total() != stopped {
			t.Errorf("spent %d micros before the cut, %d until it stopped, %d then", before, stopped, big.total())
		}
	})
}

// TestAway: without the service and its API, ad servers continue, stop when their parameters are
// ten minutes old, and catch up by themselves.
func TestAway(t *testing.T) {
	inBubble(t, "", func(t *testing.T, w *simulation) {
		list := []Fault{{Kind: Down, From: at(1, 0), To: at(1, 20)}, {Kind: Cut, From: at(1, 0), To: at(1, 20), Server: -1}}
		var spent []int64
		for _, until := range []time.Duration{at(1, 0), at(1, 9), at(1, 10) + 30*time.Second, at(1, 20), at(1, 21)} {
			w.run(t.Context(), until, list)
			sum := int64(0)
			for _, c := range w.campaigns {
				sum += c.total()
			}
			spent = append(spent, sum)
		}
		hour, holds, stopped, back := spent[0], spent[1]-spent[0], spent[3]-spent[2], spent[4]-spent[3]
		if holds < hour/20 || stopped != 0 || back < hour/120 {
			t.Errorf("spent %d micros in the hour before, %d in the nine minutes after, %d when it had to stop, %d in the minute after", hour, holds,
				stopped, back)
		}
	})
}

// Bounds of a day.
const (
	mostOver    = 0.0002 // of the sum of the budgets
	mostOverAny = 0.001  // the same, with any faults
	mostArm     = 0.001  // of the share of an arm
	leastUsed   = 0.98   // of the budget of a campaign that wants more
)

// check checks the spend of a day against the budgets, whose sum may be exceeded by a part of it.
func (w *simulation) check(most float64, logf func(string, ...any)) (wrong []error) {
	if w.late > 0 {
		wrong = append(wrong, fmt.Errorf("%d ads of servers that were cut off for more than %d s", w.late, stopSeconds))
	}
	var over, budgets, brand int64
	for _, c := range w.campaigns {
		spent, micros := c.total(), c.Limit.Micros
		over, budgets = over+max(0, spent-micros), budgets+micros
		if c.Shared != "" {
			brand += spent
		}
		logf("%-10s spent %7.2f of %7.2f (%6.2f %%); offered first %7.2f; decisions %v", c.ID, float64(spent)/1e6, float64(micros)/1e6,
			100*float64(spent)/float64(micros), float64(c.offered)/1e6, c.decision)
		if wants := !w.idle && c.offered > micros*5/4; wants && c.Shared == "" && len(c.Arms) == 0 && float64(spent) < leastUsed*float64(micros) {
			wrong = append(wrong, fmt.Errorf("%s has used %.2f %% of its budget", c.ID, 100*float64(spent)/float64(micros)))
		}
		for i, a := range c.Arms {
			share := float64(micros) * float64(a.PPM) / budget.PPM
			if part := float64(c.charged[i]) / share; part > 1+mostArm {
				wrong = append(wrong, fmt.Errorf("arm %s of %s has spent %.3f %% of its share", a.ID, c.ID, 100*part))
			} else {
				logf("  arm %s: %.2f %% of its share", a.ID, 100*part)
			}
		}
	}
	for _, s := range w.doc.Shared {
		over += max(0, brand-s.Limit.Micros)
		logf("shared %s: spent %.2f of %.2f", s.ID, float64(brand)/1e6, float64(s.Limit.Micros)/1e6)
	}
	if part := float64(over) / float64(budgets); part > most {
		wrong = append(wrong, fmt.Errorf("overspend: %.3f %% of the budgets", 100*part))
	} else {
		logf("overspend: %.4f %% of the budgets", 100*part)
	}
	return wrong
}

// Bounds of the part of a campaign's spend that one of four datacentres has, as the distance from a
// quarter.
const (
	farPart  = 0.03
	awayPart = 0.07 // if one of them is away for five hours
)

// checkParts checks that each of four datacentres has spent its part of the budgets: all have as
// many requests.
func (w *simulation) checkParts(far float64, logf func(string, ...any)) (wrong []error) {
	for _, c := range w.campaigns {
		var parts []float64
		for _, micros := range c.byDC {
			parts = append(parts, float64(micros)/float64(c.total()))
		}
		logf("%-10s spent by datacentre: %.3f", c.ID, parts)
		if slices.Min(parts) < 0.25-far || slices.Max(parts) > 0.25+far {
			wrong = append(wrong, fmt.Errorf("%s: datacentres have spent the parts %.3f", c.ID, parts))
		}
	}
	return wrong
}
