package backtest

import (
	"math"

	"github.com/weirhq/weir/pacing/control"
)

// Contender is a controller, and the time between two of its steps.
type Contender struct {
	Name string
	control.Controller
	Ticks int // between two steps, of 10 s
}

// Best is the name of the contender that is not a controller: it knows what can be spent in each
// tick, and spends by how much it is behind the plan. Its deviation is that of times for which more
// is planned than can be spent, and of catching up after them.
const Best = "best"

// Contenders returns the controllers that are compared, after Best. ptr-60s is the rule of LinkedIn
// at the interval of its authors, and ratio the default.
func Contenders() []Contender {
	return []Contender{
		{Name: Best},
		{"asap", control.ASAP{}, 1},
		{"ptr-60s", control.PTR{}, 6},
		{"ptr", control.PTR{}, 1},
		{"ratio", control.Ratio{}, 1},
		{"pid", control.PID{}, 1},
	}
}

// Result is how well a contender has paced all campaign days. Deviations from the plan are means
// of the campaign days whose budget is scarce: less than five sixths of what could be spent. They
// are 0 without any.
type Result struct {
	Name        string
	Overspend   float64 // spend above budgets, share of all budgets
	Utilisation float64 // spend within budgets, share of all budgets
	AvgErr      float64 // deviation from the plan in slots of 15 minutes, share of the mean slot
	KS          float64 // greatest distance between spend and plan, share of the budget
	Value       float64 // of what was bought within budgets, for a million micros of that spend
	Step        float64 // mean change of the logarithm of the probability in a step
	Scarce      int     // campaign days whose budget is scarce

	curves [][]float64 // by campaign day: share of the budget that was spent, at the end of each slot
}

const (
	tickMs     = 10_000
	pointMs    = 900_000 // of a slot of 15 minutes
	scarcity   = 1.2     // what can be spent is so many times the budget of a scarce one
	perMillion = 1e6
)

// Run paces campaign days, in the order of Recording.Days.
func Run(days []Day, c Contender) Result {
	r := Result{Name: c.Name}
	var pacer *control.Pacer
	if c.Controller != nil {
		pacer = control.NewPacer(control.Config{Controller: c.Controller})
	}
	paces := map[string]control.Pace{}
	var budgets, within, value, moved, steps float64
	for i := range days {
		d := &days[i]
		x := run{Day: d, pacer: pacer, pace: paces[d.Campaign], every: max(c.Ticks, 1)}
		x.run()
		paces[d.Campaign] = x.pace
		budgets += d.Budget
		within += min(x.spent, d.Budget)
		value += x.value
		r.Overspend += max(0, x.spent-d.Budget)
		moved += x.moved
		steps += x.steps
		if d.Could > scarcity*d.Budget {
			r.Scarce++
			avgErr, ks := x.deviations()
			r.AvgErr += avgErr
			r.KS += ks
		}
		r.curves = append(r.curves, x.curve)
	}
	share := func(of *float64, whole float64) {
		if whole > 0 {
			*of /= whole
		}
	}
	r.Utilisation, r.Value, r.Step = within, value*perMillion, moved
	share(&r.Overspend, budgets)
	share(&r.Utilisation, budgets)
	share(&r.Value, within)
	share(&r.Step, steps)
	share(&r.AvgErr, float64(r.Scarce))
	share(&r.KS, float64(r.Scarce))
	return r
}

// run is a campaign day that is paced.
type run struct {
	*Day
	pacer *control.Pacer // nil: Best
	pace  control.Pace
	every int // ticks between two steps

	params       control.Params
	spent, value float64
	cost         float64 // since the last step
	moved, steps float64
	next         int       // slot
	curve        []float64 // share of the budget that was spent, at the end of each point
}

func (x *run) run() {
	tick := 0
	for ms := x.Window.BeginMs; ms < x.Window.EndMs; ms += tickMs {
		if tick%x.every == 0 && x.pacer != nil {
			x.step(ms)
		}
		micros, value := x.could(ms)
		if x.pacer == nil {
			want := (x.Plan.Share(ms+tickMs)*x.Budget - x.spent) / max(micros, math.SmallestNonzeroFloat64)
			x.params = control.Params{Open: true, Probability: min(max(want, 0), 1)}
		}
		if x.params.Open && x.spent < x.Budget {
			cost := micros * x.params.Probability
			within := min(1, (x.Budget-x.spent)/max(cost, math.SmallestNonzeroFloat64))
			x.value += value * x.params.Probability * within
			x.spent += cost
			x.cost += cost
		}
		tick++
		if end := ms + tickMs; (end-x.Window.BeginMs)%pointMs == 0 || end >= x.Window.EndMs {
			x.curve = append(x.curve, x.spent/x.Budget)
		}
	}
}

// step steps the pacer.
func (x *run) step(ms int64) {
	o := control.Observation{AtMs: ms, Day: int32(x.Day.Day), Budget: x.Budget, Spent: x.spent, Cost: x.cost, Planned: x.Plan.Share(ms)}
	before := x.params.Probability
	x.pace, x.params, _ = x.pacer.Step(x.pace, o)
	if x.cost = 0; before > 0 {
		x.moved += math.Abs(math.Log(x.params.Probability / before))
		x.steps++
	}
}

// could returns what can be spent in the tick at a time, which is not before that of the last call.
func (x *run) could(ms int64) (micros, value float64) {
	for x.next < len(x.slots) && x.slots[x.next].AtMs+x.slotMs <= ms {
		x.next++
	}
	if x.next == len(x.slots) || x.slots[x.next].AtMs > ms {
		return 0, 0
	}
	part := float64(tickMs) / float64(x.slotMs)
	return x.slots[x.next].Micros * part, x.slots[x.next].Value * part
}

// deviations returns the deviation from the plan in slots of 15 minutes, as a share of the mean
// slot, and the greatest distance from the plan.
func (x *run) deviations() (avgErr, ks float64) {
	spent, planned, squares := 0.0, 0.0, 0.0
	for i, share := range x.curve {
		plan := x.Plan.Share(min(x.Window.BeginMs+int64(i+1)*pointMs, x.Window.EndMs))
		off := share - spent - (plan - planned)
		squares += off * off
		ks = max(ks, math.Abs(share-plan))
		spent, planned = share, plan
	}
	n := float64(len(x.curve))
	return n * math.Sqrt(squares/n), ks
}
