package control

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHierarchyProperties: a node is limited by every node that can be reached upwards, each once,
// whatever the shape, and by no other.
func TestHierarchyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		above := make([][]int, rapid.IntRange(1, 12).Draw(t, "nodes"))
		own, left := make([]Params, len(above)), make([]float64, len(above))
		for i := range above {
			for range rapid.IntRange(0, 3).Draw(t, "above") {
				if i > 0 {
					above[i] = append(above[i], rapid.IntRange(0, i-1).Draw(t, "node"))
				}
			}
			own[i] = Params{
				Open: rapid.IntRange(0, 5).Draw(t, "open") > 0, Probability: rapid.Float64Range(MinProbability, 1).Draw(t, "probability"),
				Multiplier: rapid.Float64Range(0.01, 1).Draw(t, "multiplier"),
			}
			left[i] = rapid.SampledFrom([]float64{0, -1, 5, math.Inf(1)}).Draw(t, "left")
		}
		h, err := NewHierarchy(above)
		if err != nil {
			t.Fatal(err)
		}
		for i := range above {
			reached := map[int]bool{i: true}
			for range above { // dumb: as often as there are nodes
				for n := range reached {
					for _, up := range above[n] {
						reached[up] = true
					}
				}
			}
			want, room := Params{true, 1, 1}, math.Inf(1)
			for n := range reached {
				want.Open = want.Open && own[n].Open
				want.Probability = min(want.Probability, own[n].Probability)
				want.Multiplier = min(want.Multiplier, own[n].Multiplier)
				room = min(room, left[n])
			}
			got, limited := h.Effective(i, own)
			shut := own[i].Open && !want.Open
			limits := Limits{shut || own[i].Open && want.Probability < own[i].Probability, shut || own[i].Open && want.Multiplier < own[i].Multiplier}
			if got != want || limited != limits || h.Left(i, left) != room || len(h.Above(i)) != len(reached)-1 {
				t.Fatalf("node %d of %v: %+v, want %+v", i, above, got, want)
			}
		}
	})
}

// TestHierarchyRefused: circles and nodes that do not exist.
func TestHierarchyRefused(t *testing.T) {
	for _, above := range [][][]int{{{0}}, {{1}, {0}}, {{}, {2}, {3}, {1}}, {{1}}, {{-1}}, {{}, {0, 7}}} {
		if h, err := NewHierarchy(above); !errors.Is(err, ErrHierarchy) || h != nil {
			t.Errorf("%v: %v", above, err)
		}
	}
	if _, err := NewHierarchy(nil); err != nil {
		t.Error(err)
	}
}

// account is an account with a budget and campaigns below it, which spend at a demand each.
type account struct {
	campaigns []*walk
	own       *walk
	hierarchy *Hierarchy
}

func newAccount(t testing.TB, c Controller, budget float64, campaigns ...float64) *account {
	t.Helper()
	a := &account{own: newWalk(Config{Controller: c})}
	a.own.o.Budget = budget
	above := [][]int{nil}
	for _, b := range campaigns {
		w := newWalk(Config{Controller: c})
		w.o.Budget = b
		a.campaigns = append(a.campaigns, w)
		above = append(above, []int{0})
	}
	var err error
	if a.hierarchy, err = NewHierarchy(above); err != nil {
		t.Fatal(err)
	}
	return a
}

// tick lets all campaigns spend for a tick, and steps all pacers.
func (a *account) tick(limited bool) {
	own := []Params{a.own.params}
	for _, w := range a.campaigns {
		own = append(own, w.params)
	}
	a.own.o.Cost = 0
	for i, w := range a.campaigns {
		p, below := a.hierarchy.Effective(i+1, own)
		if w.o.Limited = below; !limited {
			w.o.Limited = Limits{}
		}
		w.params = p
		before := w.o.Spent
		w.next()
		a.own.o.Cost += w.o.Spent - before
	}
	a.own.o.AtMs, a.own.o.Planned = a.campaigns[0].o.AtMs, a.campaigns[0].o.Planned
	a.own.o.Spent += a.own.o.Cost
	a.own.step()
}

// TestAccountBudget: an account whose budget is less than those of its campaigns spends it by its
// plan, and each campaign stays within its own.
func TestAccountBudget(t *testing.T) {
	for _, c := range []Controller{PTR{}, Ratio{}, PID{}, Dual{}} {
		t.Run(c.Name(), func(t *testing.T) {
			a := newAccount(t, c, 120*usd, 100*usd, 100*usd, 10*usd)
			most := 0.0
			for i := range 8600 {
				a.tick(true)
				if i > 1000 {
					most = max(most, math.Abs(a.own.o.Spent/a.own.o.Budget-a.own.o.Planned))
				}
			}
			if share := a.own.o.Spent / a.own.o.Budget; share < 0.98 || share > 1.002 || most > 0.06 {
				t.Errorf("the account spent %.4f, and was %.3f from its plan", share, most)
			}
			for _, w := range a.campaigns {
				if w.o.Spent > w.o.Budget*1.003 {
					t.Errorf("a campaign spent %.3f of its budget", w.o.Spent/w.o.Budget)
				}
			}
		})
	}
}

// TestLimited: a campaign that its account limits does not raise its own probability, so that no
// burst follows when the account gets a greater budget. Without Limited it does.
func TestLimited(t *testing.T) {
	for _, c := range []Controller{PTR{}, Ratio{}, PID{}, Dual{}} {
		t.Run(c.Name(), func(t *testing.T) {
			burst := func(limited bool) (before, after float64) {
				a := newAccount(t, c, 20*usd, 100*usd)
				for range 3000 {
					a.tick(limited)
				}
				p := a.campaigns[0].params
				return a.own.params.Probability * a.own.params.Multiplier, p.Probability * p.Multiplier
			}
			first := NewPacer(Config{Controller: c}).begin(&Pace{}, &Observation{})
			account, with := burst(true)
			_, without := burst(false)
			if account > 0.06 || with > 1.5*first.Probability*first.Multiplier || without < 0.98 {
				t.Errorf("the account has %.3f, its campaign %.3f, and %.3f without the limit", account, with, without)
			}
		})
	}
}

func TestArmsRefused(t *testing.T) {
	for _, shares := range [][]float64{nil, {0}, {-0.1}, {1.1}, {0.6, 0.5}, {math.NaN()}, {0.5, math.Inf(1)}} {
		if _, err := NewArms("c", shares...); !errors.Is(err, ErrArms) {
			t.Errorf("%v: %v", shares, err)
		}
	}
	if _, err := NewArms("c", 0.1, 0.2, 0.3, 0.4); err != nil {
		t.Error(err)
	}
}

// TestArmsBudgets: the budgets of arms are their shares, never above them, and never in sum above
// the budget.
func TestArmsBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 8).Draw(t, "parts")
		sum := rapid.IntRange(0, 1000).Draw(t, "outside")
		for _, p := range parts {
			sum += p
		}
		var shares []float64
		for _, p := range parts {
			shares = append(shares, float64(p)/float64(sum))
		}
		arms, err := NewArms("c", shares...)
		if err != nil {
			t.Fatal(err)
		}
		micros := rapid.Int64Range(-5, 1<<52).Draw(t, "micros")
		total := int64(0)
		for i, b := range arms.Budgets(micros) {
			total += b
			if want := shares[i] * float64(max(micros, 0)); b < 0 || float64(b) > want || float64(b) < want-2 {
				t.Fatalf("arm %d of %v has %d of %d", i, shares, b, micros)
			}
		}
		if total > max(micros, 0) {
			t.Fatalf("%d of %d", total, micros)
		}
	})
	arms, _ := NewArms("c", 0.5, 0.5)
	if got := arms.Budgets(math.MaxInt64); got[0] < 0 || got[1] < 0 || got[0] > math.MaxInt64-got[1] {
		t.Errorf("%v", got)
	}
}

// TestArmsOf: users are split by the shares, always the same way, and independently of other
// campaigns and of Coin.
func TestArmsOf(t *testing.T) {
	shares := []float64{0.2, 0.5}
	arms, _ := NewArms("c", shares...)
	shares[0] = 1 // the caller's
	other, _ := NewArms("d", 0.2, 0.5)
	counts, both, coins := map[int]int{}, 0, 0
	const n = 100_000
	for i := range n {
		user := fmt.Sprint(i)
		arm := arms.Of(user)
		if arm != arms.Of(user) {
			t.Fatal("another arm for the same user")
		}
		counts[arm]++
		if arm == 0 && other.Of(user) == 0 {
			both++
		}
		if arm == 0 && Coin(user, "c") < 0.2 {
			coins++
		}
	}
	for arm, want := range map[int]float64{0: 0.2, 1: 0.5, -1: 0.3} {
		if math.Abs(float64(counts[arm])/n-want) > 0.006 {
			t.Errorf("arm %d has %d of %d users", arm, counts[arm], n)
		}
	}
	if math.Abs(float64(both)/n-0.04) > 0.003 || math.Abs(float64(coins)/n-0.04) > 0.003 {
		t.Errorf("%d users are in arm 0 of both, %d below the coin", both, coins)
	}
}

// TestArmsNeverBorrow: an arm whose users cost ten times as much spends its share and not more,
// while another one has hardly any traffic. No arm is above its budget by more than the cost of a
// tick.
func TestArmsNeverBorrow(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		arms, _ := NewArms("c", 0.25, 0.25, 0.5)
		budgets := arms.Budgets(100 * usd)
		var walks []*walk
		for i, demand := range []float64{0.2 * usd, 0.0001 * usd, 0.02 * usd} {
			arm := newWalk(w.pacer.cfg)
			arm.o.Budget, arm.demand = float64(budgets[i]), demand
			walks = append(walks, arm)
		}
		sum := 0.0
		for i, arm := range walks {
			most := 0.0
			for range 8600 {
				arm.next()
				most = max(most, arm.o.Cost)
			}
			sum += arm.o.Spent
			if arm.o.Spent > arm.o.Budget+most {
				t.Errorf("arm %d spent %.0f of %.0f, a tick costs up to %.0f", i, arm.o.Spent, arm.o.Budget, most)
			}
		}
		if sum > 77*usd || walks[0].o.Spent < 24.5*usd || walks[2].o.Spent < 49*usd || walks[1].o.Spent > usd {
			t.Errorf("%.2f, %.2f and %.2f USD", walks[0].o.Spent/usd, walks[1].o.Spent/usd, walks[2].o.Spent/usd)
		}
	})
}

// TestAbove: what Above returns may be changed by the caller.
func TestAbove(t *testing.T) {
	h, _ := NewHierarchy([][]int{{}, {0}, {1, 0}})
	h.Above(2)[0] = 7
	if got := h.Above(2); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v", got)
	}
}
