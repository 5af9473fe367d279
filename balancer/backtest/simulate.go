package backtest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
)

// Config configures a simulation. The zero value works.
type Config struct {
	// Seed determines the arrivals. Defaults to 1.
	Seed uint64
	// Stock is the number of resources as a multiple of MostLeased. Defaults to 1.3.
	Stock float64
	// Resources is the number of resources; it replaces Stock unless it is 0.
	Resources int
	// WarmUp is the time at the beginning that does not count in the results. Defaults to a fifth
	// of the curves, at most a day.
	WarmUp time.Duration
	// Delay is how long a transfer takes: its quarantine and replication. Defaults to 5 s.
	Delay time.Duration
	// Limits are the balancer's limits.
	Limits plan.Limits
	// Points is the number of intervals in Result.Points. Defaults to 480.
	Points int
}

const (
	shortest = 3600 // shortest lease, seconds
	longest  = 5400 // longest lease, seconds
	ring     = 8192 // seconds; more than the longest lease
	margin   = 2    // balancer.Config.Margin
	maxDelay = 600  // seconds
)

// setDefaults sets defaults for curves of so many seconds, and returns an error for an invalid
// field.
func (c *Config) setDefaults(seconds int) error {
	c.Seed = cmp.Or(c.Seed, 1)
	c.Stock = cmp.Or(c.Stock, 1.3)
	c.WarmUp = cmp.Or(c.WarmUp, min(24*time.Hour, time.Duration(seconds/5)*time.Second))
	c.Delay = cmp.Or(c.Delay, 5*time.Second)
	c.Points = cmp.Or(c.Points, 480)
	if !(c.Stock > 0 && c.Stock < 100) || c.Resources < 0 || c.Delay < time.Second || c.Delay > maxDelay*time.Second || c.Points < 1 ||
		c.WarmUp < 0 {
		return fmt.Errorf(
			"backtest: a stock of %v, a delay of %s, %d points, a warm-up of %s: use a stock above 0 and below 100, a delay of 1s to %ds, and positive values for the others",
			c.Stock, c.Delay, c.Points, c.WarmUp, maxDelay)
	}
	return nil
}

// Policies.
const (
	StaticSplit        = "static split"
	ProportionalHourly = "proportional, every 5 min; liberated hourly"
	ProportionalAtOnce = "proportional, every 5 min; liberated at once"
	Weir               = "weir, forecast chosen by back-test"
	WeirEWMA           = "weir, EWMA"
	WeirHolt           = "weir, Holt"
	WeirSeasonal       = "weir, seasonal"
)

// Policies returns the policies in the order of a report.
func Policies() []string {
	return []string{StaticSplit, ProportionalHourly, ProportionalAtOnce, WeirEWMA, WeirHolt, WeirSeasonal, Weir}
}

// Simulate runs a policy on curves, which must have one length and one step.
func Simulate(curves []Curve, name string, cfg Config) (*Result, error) {
	seconds, err := check(curves)
	if err != nil {
		return nil, err
	}
	if err := cfg.setDefaults(seconds); err != nil {
		return nil, err
	}
	w := newSimulation(curves, cfg, seconds)
	w.res.Policy, w.hourly = name, name == ProportionalHourly
	p, err := w.policy(name)
	if err != nil {
		return nil, err
	}
	arrive, hold := draws(cfg.Seed), draws(^cfg.Seed)
	n := make([]int, len(curves))
	for t := range seconds {
		for r := range curves {
			w.pass(r, t)
			rate := curves[r].at(t)
			n[r] = arrive.poisson(rate)
			w.lease(r, t, n[r], &hold)
			w.point(r, t).Wanted += rate
		}
		if p != nil {
			p.arrived(t, n)
			w.carry(t, p.moves(t, w))
		}
	}
	for r := range w.res.Points {
		for i := range w.res.Points[r] {
			w.res.Points[r][i].Wanted /= w.res.PointInterval.Seconds()
		}
	}
	return w.res, nil
}

func check(curves []Curve) (seconds int, err error) {
	if len(curves) == 0 {
		return 0, fmt.Errorf("backtest: %w: no curve", ErrFormat)
	}
	for i := range curves {
		c := &curves[i]
		switch {
		case c.Step < time.Second || len(c.Rate) == 0:
			return 0, fmt.Errorf("backtest: %w: the curve of %s has %d steps of %s", ErrFormat, c.Region, len(c.Rate), c.Step)
		case c.seconds() != curves[0].seconds():
			return 0, fmt.Errorf("backtest: %w: the curve of %s is %d s long, that of %s %d s: cut them to one length", ErrFormat, c.Region,
				c.seconds(), curves[0].Region, curves[0].seconds())
		case slices.ContainsFunc(curves[:i], func(o Curve) bool { return o.Region == c.Region }):
			return 0, fmt.Errorf("backtest: %w: two curves of %s", ErrFormat, c.Region)
		}
		for _, r := range c.Rate {
			if !(r >= 0 && r < 1e6) {
				return 0, fmt.Errorf("backtest: %w: %v new leases per second in %s: scale the curve", ErrFormat, r, c.Region)
			}
		}
	}
	return curves[0].seconds(), nil
}

// MostLeased returns the greatest number of resources that would be leased at one time, on average,
// if no key were refused.
func MostLeased(curves []Curve) (most float64) {
	const mean = (shortest + longest) / 2
	sum := 0.0
	for t := 0; len(curves) > 0 && t < curves[0].seconds(); t += 60 {
		for r := range curves {
			sum += 60 * curves[r].at(t)
			if t >= mean {
				sum -= 60 * curves[r].at(t-mean)
			}
		}
		most = max(most, sum)
	}
	return most
}

func (w *simulation) policy(name string) (policy, error) {
	n := len(w.curves)
	o := &ours{lim: w.cfg.Limits, margin: margin, series: make([]forecast.Series, n), profile: make([]forecast.Profile, n)}
	switch name {
	case StaticSplit:
		return nil, nil
	case ProportionalHourly, ProportionalAtOnce:
		return &proportional{count: make([]int, n), rate: make([]float64, n)}, nil
	case Weir:
		o.auto = true
	case WeirEWMA:
	case WeirHolt:
		o.method = forecast.Holt
	case WeirSeasonal:
		o.method = forecast.Seasonal
	default:
		return nil, fmt.Errorf("backtest: policy %q is unknown: use one of %q", name, Policies())
	}
	return o, nil
}
