package backtest

import "fmt"

// Report is the result of Run.
type Report struct {
	Curves    []Curve
	Config    Config
	Forecasts []ForecastRow
	Policies  []*Result // by Policies
}

// Run runs all methods and policies on curves, which must have one length and one step.
func Run(curves []Curve, cfg Config) (*Report, error) {
	seconds, err := check(curves)
	if err != nil {
		return nil, err
	}
	if err := cfg.setDefaults(seconds); err != nil {
		return nil, err
	}
	rep := &Report{Curves: curves, Config: cfg, Forecasts: forecasts(curves, cfg, seconds)}
	for _, name := range Policies() {
		res, err := Simulate(curves, name, cfg)
		if err != nil {
			return nil, err
		}
		rep.Policies = append(rep.Policies, res)
	}
	return rep, nil
}

// Result returns the result of a policy; nil if it was not run.
func (r *Report) Result(policy string) *Result {
	for _, p := range r.Policies {
		if p.Policy == policy {
			return p
		}
	}
	return nil
}

// Rows returns the two tables of the report. The first row of each has the names of the columns.
func (r *Report) Rows() (policies, forecasts [][]string) {
	policies = [][]string{{"policy", "wanted", "refused", "refused %", "moved", "moved per 100"}}
	for _, p := range r.Policies {
		policies = append(policies, []string{
			p.Policy, fmt.Sprint(p.Wanted), fmt.Sprint(p.Refused), fmt.Sprintf("%.3f", p.RefusedPercent()), fmt.Sprint(p.Moved),
			fmt.Sprintf("%.2f", p.MovedPer100()),
		})
	}
	forecasts = [][]string{{"region", "method", "off %", "of that too little %"}}
	for _, f := range r.Forecasts {
		forecasts = append(forecasts,
			[]string{f.Region, f.Method, fmt.Sprintf("%.2f", f.ErrorPercent), fmt.Sprintf("%.2f", f.UnderPercent)})
	}
	return policies, forecasts
}
