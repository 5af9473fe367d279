package market

import "github.com/weirhq/weir/pacing/control"

// Contender is a controller, and what it knows.
type Contender struct {
	Name string
	control.Controller
	Flight  bool // it knows the cost of the ads that were shown and not charged
	Seconds int  // between two steps; 0: 10
}

// Contenders returns the controllers that are compared. The first two spend as fast as they can,
// the third one is the rule of LinkedIn at the interval of its authors.
func Contenders() []Contender {
	return []Contender{
		{Name: "asap", Controller: control.ASAP{}},
		{Name: "asap-flight", Controller: control.ASAP{}, Flight: true},
		{Name: "ptr-60s", Controller: control.PTR{}, Seconds: 60},
		{Name: "ptr-flight", Controller: control.PTR{}, Flight: true},
		{Name: "ratio-flight", Controller: control.Ratio{}, Flight: true},
		{Name: "pid", Controller: control.PID{}},
		{Name: "pid-flight", Controller: control.PID{}, Flight: true},
		{Name: "dual-flight", Controller: control.Dual{}, Flight: true},
	}
}

// Mean returns the mean result of a contender in markets.
func Mean(markets []*Market, c Contender, sc Scenario) (mean Result) {
	for _, w := range markets {
		mean.add(Simulate(w, Run{Controller: c.Controller, Seconds: c.Seconds, Flight: c.Flight, Scenario: sc}), 1/float64(len(markets)))
	}
	return mean
}

// add adds a result with a weight.
func (r *Result) add(o Result, weight float64) {
	r.Overspend += weight * o.Overspend
	r.Utilisation += weight * o.Utilisation
	r.AvgErr += weight * o.AvgErr
	r.KS += weight * o.KS
	r.Hours += weight * o.Hours
	r.Value += weight * o.Value
	r.Step += weight * o.Step
}
