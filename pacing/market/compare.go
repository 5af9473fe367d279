package market

import "github.com/weirhq/weir/pacing/control"

// Contender is a controller, and what it knows.
type Contender struct {
	Name string
	control.Controller
	Knows   Knowledge
	Seconds int // between two steps; 0: 10
}

// Contenders returns the controllers that are compared. The first two spend as fast as they can,
// the third one is the rule of LinkedIn at the interval of its authors.
func Contenders() []Contender {
	return []Contender{
		{Name: "asap", Controller: control.ASAP{}},
		{Name: "asap-flight", Controller: control.ASAP{}, Knows: Flight},
		{Name: "ptr-60s", Controller: control.PTR{}, Seconds: 60},
		{Name: "ptr-flight", Controller: control.PTR{}, Knows: Flight},
		{Name: "ratio-charges", Controller: control.Ratio{}, Knows: Charges},
		{Name: "ratio-reports", Controller: control.Ratio{}, Knows: Reports},
		{Name: "ratio-flight", Controller: control.Ratio{}, Knows: Flight},
		{Name: "pid", Controller: control.PID{}},
		{Name: "pid-reports", Controller: control.PID{}, Knows: Reports},
		{Name: "pid-flight", Controller: control.PID{}, Knows: Flight},
		{Name: "dual-reports", Controller: control.Dual{}, Knows: Reports},
		{Name: "dual-flight", Controller: control.Dual{}, Knows: Flight},
	}
}

// Mean returns the mean result of a contender in markets.
func Mean(markets []*Market, c Contender, sc Scenario) (mean Result) {
	for _, w := range markets {
		mean.add(Simulate(w, Run{Controller: c.Controller, Seconds: c.Seconds, Knows: c.Knows, Scenario: sc}), 1/float64(len(markets)))
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
