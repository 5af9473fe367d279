package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// quiet returns views of n regions without demand.
func quiet(n int) []View {
	var list []View
	for i := range n {
		list = append(list, View{Region: fmt.Sprintf("r%d", i), State: StateActive, Horizon: 600_000})
	}
	return list
}

func random(rng *rand.Rand, n int) []View {
	views := quiet(n)
	for i := range views {
		v := &views[i]
		v.Free, v.Returning, v.Need = rng.Int64N(500), rng.Int64N(100), rng.Int64N(600)
		v.Rate = float64(v.Need) / 700
		v.Recent = v.Rate * (0.5 + rng.Float64())
		if rng.IntN(3) == 0 {
			v.InTransit, v.Outbound = rng.Int64N(50), rng.Int64N(v.Free+1)
		}
		if rng.IntN(4) == 0 {
			v.Floor = rng.Int64N(300)
		}
		switch rng.IntN(10) {
		case 0:
			v.LagMs = 60_000
		case 1:
			v.LagMs = -1
		case 2:
			v.State = []string{StateEvacuating, StateAdopted, StateSilent, StateOff, StateReading}[rng.IntN(5)]
		}
	}
	rng.Shuffle(n, func(i, j int) { views[i], views[j] = views[j], views[i] })
	return views
}

// started returns the views after the moves were commanded.
func started(views []View, moves []Move) []View {
	views = slices.Clone(views)
	for _, m := range moves {
		for i := range views {
			if views[i].Region == m.From {
				views[i].Outbound += m.Count
			}
			if views[i].Region == m.To {
				views[i].InTransit += m.Count
			}
		}
	}
	return views
}

// arrived returns the views after all transfers arrived.
func arrived(views []View) []View {
	views = slices.Clone(views)
	for i := range views {
		v := &views[i]
		v.Free, v.InTransit, v.Outbound = v.stock(), 0, 0
	}
	return views
}

// target returns what a region is planned to have, and may be left with.
func target(views []View, lim Limits, region string) int64 {
	lim.setDefaults()
	for _, s := range newPlan(views, &lim).regions {
		if s.view.Region == region {
			return s.target
		}
	}
	return 0
}

// For all views: no region gives what it does not have, needs itself or has as a floor; no region
// that may not receive gets anything; at most the cap moves; a second plan adds nothing; and no
// move is reversed.
func TestPlanKeepsItsPromises(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved, pulled, evacuated := 0, 0, 0
	for round := range 20_000 {
		views := random(rng, 1+round%8)
		lim := Limits{MaxMoved: 1 << 40, MaxEvacuated: 1 << 40}
		if round%3 == 0 {
			lim = Limits{MaxMoved: 40, MaxMovedShare: 0.01, MaxEvacuated: 30}
		}
		for _, f := range []func([]View, Limits) []Move{Moves, Pulls} {
			moves := f(views, lim)
			if err := promises(views, lim, moves); err != nil {
				t.Fatalf("round %d: %v\nviews %+v\nmoves %+v", round, err, views, moves)
			}
			for _, m := range moves {
				switch m.Kind {
				case KindMove:
					moved++
				case KindPull:
					pulled++
				case KindEvacuate:
					evacuated++
				}
			}
			mixed := slices.Clone(views)
			rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			if again := f(mixed, lim); !slices.Equal(again, moves) {
				t.Fatalf("round %d: the moves depend on the order of the views:\n%+v\n%+v", round, moves, again)
			}
		}
		if lim.MaxMoved < 1000 {
			continue
		}
		moves := Moves(views, lim)
		if again := Moves(started(views, moves), lim); len(again) > 0 {
			t.Fatalf("round %d: planned twice:\nviews %+v\nfirst %+v\nthen %+v", round, views, moves, again)
		}
		if back := undone(views, lim); back != "" {
			t.Fatalf("round %d: %s\nviews %+v", round, back, views)
		}
	}
	if moved < 1000 || pulled < 1000 || evacuated < 1000 {
		t.Errorf("only %d moves, %d pulls, %d evacuations: the test covers too little", moved, pulled, evacuated)
	}
}

func promises(views []View, lim Limits, moves []Move) error {
	lim.setDefaults()
	by := map[string]View{}
	gave, got := map[string]int64{}, map[string]int64{}
	free, sum, left := int64(0), int64(0), int64(0)
	for _, v := range views {
		by[v.Region] = v
		free += v.held()
	}
	for _, m := range moves {
		from, to := by[m.From], by[m.To]
		gave[m.From] += m.Count
		got[m.To] += m.Count
		switch {
		case m.Count <= 0 || m.From == m.To:
			return fmt.Errorf("a move of nothing: %+v", m)
		case m.Why == "" || !strings.Contains(m.Why, fmt.Sprint(m.Count)) || !strings.Contains(m.Why, m.From) || !strings.Contains(m.Why, m.To):
			return fmt.Errorf("the explanation lacks the count: %+v", m)
		case to.State != StateActive || to.LagMs < 0 || to.LagMs > 10_000:
			return fmt.Errorf("to a region that may not receive: %+v", m)
		case m.Kind == KindEvacuate:
			left += m.Count
		default:
			sum += m.Count
		}
		if from.State != StateActive && !(from.State == StateEvacuating && m.Kind == KindEvacuate) {
			return fmt.Errorf("from a region that may not give: %+v", m)
		}
	}
	for region, n := range gave {
		v := by[region]
		if rest := v.held() - n; rest < 0 || v.State == StateActive && rest < max(v.Floor, target(views, lim, region)) {
			return fmt.Errorf("%s gave %d and has %d left; its floor is %d, its share %d", region, n, rest, v.Floor, target(views, lim, region))
		}
		if v.State == StateActive && got[region] > 0 {
			return fmt.Errorf("%s gives and gets", region)
		}
	}
	if most := max(lim.MaxMoved, Count(lim.MaxMovedShare*float64(free))); sum > most {
		return fmt.Errorf("%d move, the cap is %d", sum, most)
	}
	evacuating := int64(0)
	for _, v := range views {
		if v.State == StateEvacuating {
			evacuating++
		}
	}
	if left > evacuating*lim.MaxEvacuated {
		return fmt.Errorf("%d leave %d regions, at most %d may leave each", left, evacuating, lim.MaxEvacuated)
	}
	return nil
}

// TestPromisesNotices: promises reports each wrong move.
func TestPromisesNotices(t *testing.T) {
	view := func(views []View, region string) *View {
		return &views[slices.IndexFunc(views, func(v View) bool { return v.Region == region })]
	}
	for name, mutate := range map[string]func(views []View, lim *Limits, m *Move){
		"more than the region can spare":    func(views []View, _ *Limits, m *Move) { m.Count += view(views, m.From).held() },
		"below the floor":                   func(views []View, _ *Limits, m *Move) { view(views, m.From).Floor = view(views, m.From).held() },
		"to a region that is evacuated":     func(views []View, _ *Limits, m *Move) { view(views, m.To).State = StateEvacuating },
		"to a region that lags":             func(views []View, _ *Limits, m *Move) { view(views, m.To).LagMs = 60_000 },
		"to a region without a heartbeat":   func(views []View, _ *Limits, m *Move) { view(views, m.To).State = StateSilent },
		"from a region without a heartbeat": func(views []View, _ *Limits, m *Move) { view(views, m.From).State = StateSilent },
		"more than the cap":                 func(_ []View, lim *Limits, _ *Move) { lim.MaxMoved, lim.MaxMovedShare = 1, 1e-9 },
		"of nothing":                        func(_ []View, _ *Limits, m *Move) { m.Count = 0 },
		"to itself":                         func(_ []View, _ *Limits, m *Move) { m.To = m.From },
		"without an explanation":            func(_ []View, _ *Limits, m *Move) { m.Why = "" },
	} {
		rng, tried := rand.New(rand.NewPCG(5, 6)), 0
		for range 200 {
			views, lim := random(rng, 4), Limits{MaxMoved: 1 << 40}
			moves := Moves(views, lim)
			if len(moves) == 0 || moves[0].Kind != KindMove || moves[0].Count < 2 {
				continue
			}
			tried++
			if mutate(views, &lim, &moves[0]); promises(views, lim, moves) == nil {
				t.Errorf("%s: not reported: views %+v\nmoves %+v", name, views, moves)
				break
			}
		}
		if tried == 0 {
			t.Error("no plan to try")
		}
	}
}

// undone runs some cycles at constant demand, with each move arriving before the next, and
// describes a move that reverses another.
func undone(views []View, lim Limits) string {
	type pair struct{ from, to string }
	done := map[pair]string{}
	for cycle := range 6 {
		moves := Pulls(views, lim)
		if cycle%2 == 0 {
			moves = Moves(views, lim)
		}
		for _, m := range moves {
			if before, was := done[pair{m.To, m.From}]; was {
				return fmt.Sprintf("in cycle %d, %q reverses %q", cycle, m.Why, before)
			}
			done[pair{m.From, m.To}] = m.Why
		}
		views = arrived(started(views, moves))
	}
	return ""
}

// A simple planner moves one resource at a time. The shortfall after both is the same, and so is
// the number of moved resources.
func TestPlanAgainstOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	busy := 0
	for round := range 20_000 {
		views := random(rng, 1+round%4)
		for i := range views {
			if views[i].State == StateEvacuating {
				views[i].State = StateActive
			}
		}
		lim := Limits{MaxMoved: 1 << 40, Fill: 1}
		lim.setDefaults()
		moves := Moves(views, lim)
		n, lack := oneByOne(views, lim)
		sum := int64(0)
		for _, m := range moves {
			sum += m.Count
		}
		if got := lacking(views, lim, moves); sum != n || got != lack {
			t.Fatalf("round %d: %d moved and %d lack, one by one %d and %d\nviews %+v\nmoves %+v", round, sum, got, n, lack, views, moves)
		}
		if n > 0 {
			busy++
		}
	}
	if busy < 1000 {
		t.Errorf("only %d plans moved anything", busy)
	}
}

// lacking returns the shortfall after moves of the regions that should get resources.
func lacking(views []View, lim Limits, moves []Move) (n int64) {
	p := newPlan(views, &lim)
	for _, s := range p.regions {
		if s.why != "" || s.shortfall() <= lim.band(s.target) {
			continue
		}
		k := s.shortfall()
		for _, m := range moves {
			if m.To == s.view.Region {
				k -= m.Count
			}
		}
		n += max(0, k)
	}
	return n
}

func oneByOne(views []View, lim Limits) (moved, lack int64) {
	p := newPlan(views, &lim)
	stock, held := map[int]int64{}, map[int]int64{}
	var takers []int
	for i := range p.regions {
		s := &p.regions[i]
		stock[i], held[i] = s.stock, s.held
		if s.why == "" && s.target-s.stock > lim.band(s.target) {
			takers = append(takers, i)
		}
	}
	for {
		to, from := -1, -1
		for _, i := range takers {
			if s := &p.regions[i]; stock[i] < s.target && (to < 0 || s.target-stock[i] > p.regions[to].target-stock[to]) {
				to = i
			}
		}
		for i := range p.regions {
			s := &p.regions[i]
			if i != to && s.active() && held[i] > max(s.target, s.view.Floor) {
				from = i
			}
		}
		if to < 0 || from < 0 {
			break
		}
		held[from], stock[from], stock[to] = held[from]-1, stock[from]-1, stock[to]+1
		moved++
	}
	for _, i := range takers {
		lack += max(0, p.regions[i].target-stock[i])
	}
	return moved, lack
}

func TestPlanExplains(t *testing.T) {
	views := []View{
		{Region: "eu-west-1", State: StateActive, Free: 35, Returning: 20, Need: 120, Rate: 0.05, Horizon: 600_000},
		{Region: "us-east-1", State: StateActive, Free: 600, Need: 200, Rate: 0.2, Horizon: 600_000},
	}
	moves := Moves(views, Limits{})
	want := "eu-west-1 expects 120 new leases in 10 min and has 35 free with 20 returning; us-east-1 has a surplus of 400: 98 are transferred"
	if len(moves) != 1 || moves[0].Why != want {
		t.Errorf("moves %+v\nwant %q", moves, want)
	}
	views[0].LagMs = 25_000
	got := Explain(views, Limits{})
	if want := "eu-west-1 expects 120 new leases in 10 min and has 35 free with 20 returning: 65 short, and nothing is sent because its replication lag is 25.0 s, above the limit of 10.0 s"; got[0] != want {
		t.Errorf("%q\nwant %q", got[0], want)
	}
	if want := "us-east-1 expects 200 new leases in 10 min and has 600 free: enough, with a surplus of 400"; got[1] != want {
		t.Errorf("%q\nwant %q", got[1], want)
	}
}

// With too little for all, each region gets the same share of what it wants; then nothing moves.
func TestShortageIsShared(t *testing.T) {
	views := quiet(3)
	for i, need := range []int64{400, 200, 100} {
		views[i].Need = need
	}
	views[0].Free = 350
	for range 5 {
		views = arrived(started(views, Moves(views, Limits{MaxMoved: 1000})))
	}
	for i, want := range []int64{200, 100, 50} {
		if got := views[i].Free; got < want-1 || got > want+1 {
			t.Errorf("region %d has %d, not its share of %d", i, got, want)
		}
	}
}

func TestEvacuationGoesWhereItIsWanted(t *testing.T) {
	views := quiet(4)
	views[0].State, views[0].Free, views[0].Floor = StateEvacuating, 1000, 500
	views[1].Need, views[2].Need, views[3].LagMs = 300, 100, -1
	cycles := 0
	for ; views[0].Free > 0 && cycles < 100; cycles++ {
		moves := Moves(views, Limits{MaxEvacuated: 100})
		if err := promises(views, Limits{MaxEvacuated: 100}, moves); err != nil {
			t.Fatal(err)
		}
		views = arrived(started(views, moves))
	}
	if cycles != 10 || views[3].Free != 0 || views[1].Free < 2*views[2].Free {
		t.Errorf("after %d cycles: %+v", cycles, views)
	}
}

// A burst is visible in the recent rate, and answered before the next plan.
func TestPullWhatIsAboutToRunOut(t *testing.T) {
	views := quiet(2)
	views[0].Free, views[0].Rate, views[0].Recent, views[0].Need = 40, 1, 4, 30
	views[1].Free, views[1].Rate, views[1].Need = 5000, 1, 600
	moves := Pulls(views, Limits{})
	if len(moves) != 1 || moves[0].Kind != KindPull || moves[0].Count < 400 {
		t.Errorf("a region with 40 free that gives out 4 per second got %+v", moves)
	}
	views[0].ReturningSoon = 100
	if moves = Pulls(views, Limits{}); len(moves) > 0 {
		t.Errorf("there are 100 more in seconds, and yet %+v", moves)
	}
}

func BenchmarkPlan(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	var sets [][]View
	for range 1000 {
		sets = append(sets, random(rng, 4))
	}
	for i := 0; b.Loop(); i++ {
		Moves(sets[i%len(sets)], Limits{})
	}
}
