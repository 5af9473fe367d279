package market

import "math"

const (
	slotsPerDay = 96
	slotSteps   = steps / slotsPerDay
	nearlySpent = 0.95
)

// Result is what a day was like, over all campaigns. Deviations from the plan are of the campaigns
// whose budget is less than five sixths of what they could spend, and above 5 million micros.
type Result struct {
	Overspend   float64 // spend above budgets, share of all budgets
	Utilisation float64 // spend within budgets, share of all budgets
	AvgErr      float64 // deviation from the plan in slots of 15 minutes, share of the mean slot
	KS          float64 // greatest distance between spend and plan, share of the budget
	Hours       float64 // until 95 % of the budget were spent
	Value       float64 // of the ads, per unit of spend within budgets
	Step        float64 // mean change of the logarithm of the parameters in a step
}

// Simulate returns the result of a day.
func Simulate(w *Market, r Run) Result {
	d := newDay(w, r)
	d.run()
	return d.result()
}

func (d *day) result() (r Result) {
	var budgets, within, value float64
	limited := 0.0
	for i := range d.states {
		s := &d.states[i]
		budgets += s.budget
		within += min(s.charged, s.budget)
		r.Overspend += max(0, s.charged-s.budget)
		value += s.value
		if d.campaigns[i].potential <= 1.2*s.budget || s.budget <= 5_000_000 {
			continue
		}
		limited++
		squares, sum, most := 0.0, 0.0, 0.0
		for k, spent := range s.slots {
			from, to := d.plan[k*slotSteps], d.plan[(k+1)*slotSteps]
			off := spent - (to-from)*s.budget
			squares += off * off
			sum += spent
			most = max(most, math.Abs(sum/s.budget-to))
		}
		r.AvgErr += math.Sqrt(squares/slotsPerDay) / (s.budget / slotsPerDay)
		r.KS += most
		r.Hours += hours(s.done)
		r.Step += s.moved / float64(s.changes)
	}
	r.Overspend, r.Utilisation, r.Value = r.Overspend/budgets, within/budgets, value/within
	for _, sum := range []*float64{&r.AvgErr, &r.KS, &r.Hours, &r.Step} {
		*sum /= limited
	}
	return r
}
