package backtest

import "fmt"

// Report is what Run found.
type Report struct {
	Curves    []Curve
	Config    Config
	Forecasts []ForecastRow
	Policies  []*Result // by Policies
}

// Run tries all methods and policies on curves, which must be of one length and step.
func Run(curves []Curve, cfg Config) (*Report, error) {
	seconds, err := check(curves)
	if err != nil {
		return nil, err
	}
	if cfg, err = cfg.withDefaults(seconds); err != nil {
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

// Of is the result of a policy; nil if it was not run.
func (r *Report) Of(policy string) *Result {
	for _, p := range r.Policies {
		if p.Policy == policy {
			return p
		}
	}
	return nil
}

// Rows are the report's two tables, a line each, with a first line that names the columns.
func (r *Report) Rows() (policies, forecasts [][]string) {
	policies = [][]string{{"policy", "wanted", "refused", "refused %", "moved", "moved per 100"}}
	for _, p := range r.Policies {
		policies = append(policies, []string{
			p.Policy, fmt.Sprint(p.Wanted), fmt.Sprint(p.Refused), fmt.Sprintf("%.3f", p.RefusedPercent()), fmt.Sprint(p.Moved), fmt.Sprintf("%.2f", p.MovedPer100()),
		})
	}
	forecasts = [][]string{{"region", "method", "off %", "of that too little %"}}
	for _, f := range r.Forecasts {
		forecasts = append(forecasts, []string{f.Region, f.Method, fmt.Sprintf("%.2f", f.Off), fmt.Sprintf("%.2f", f.Under)})
	}
	return policies, forecasts
}
