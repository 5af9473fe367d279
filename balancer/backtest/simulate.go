package backtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/balancer"
)

// Config is what is simulated. Its zero value works.
type Config struct {
	// Seed makes the arrivals. Defaults to 1.
	Seed uint64
	// Stock is how many resources there are, by the greatest number that is leased at a time on average. Defaults to 1.3.
	Stock float64
	// Resources is the same as a number, if it is not 0.
	Resources int
	// Warm is the time at the beginning that is not judged. Defaults to a fifth of it all, a day at most.
	Warm time.Duration
	// Delay is how long a move takes: the wait of a transfer, and replication. Defaults to 5 s.
	Delay time.Duration
	// Limits are the balancer's.
	Limits balancer.Limits
	// Points is into how many parts the time is divided in Result.Points. Defaults to 480.
	Points int
}

const (
	shortest = 3600 // seconds that a lease lasts at least
	longest  = 5400 // at most
	ring     = 8192 // seconds; more than a lease lasts
	margin   = 2    // balancer.Config.Margin
	maxDelay = 600  // seconds
)

func (c Config) withDefaults(seconds int) (Config, error) {
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Stock == 0 {
		c.Stock = 1.3
	}
	if c.Warm == 0 {
		c.Warm = min(24*time.Hour, time.Duration(seconds/5)*time.Second)
	}
	if c.Delay == 0 {
		c.Delay = 5 * time.Second
	}
	if c.Points == 0 {
		c.Points = 480
	}
	if !(c.Stock > 0 && c.Stock < 100) || c.Resources < 0 || c.Delay < time.Second || c.Delay > maxDelay*time.Second || c.Points < 1 || c.Warm < 0 {
		return c, fmt.Errorf("backtest: stock %v, delay %s, %d points, warm %s: the stock must be positive and below 100, the delay 1s to %ds, the others positive",
			c.Stock, c.Delay, c.Points, c.Warm, maxDelay)
	}
	return c, nil
}

// Policies that Simulate knows.
const (
	Static       = "static split"
	Seed         = "proportional, every 5 min; liberated hourly"
	SeedPrompt   = "proportional, every 5 min; liberated at once"
	Ours         = "weir, forecast chosen by back-test"
	OursEWMA     = "weir, EWMA"
	OursHolt     = "weir, Holt"
	OursSeasonal = "weir, seasonal"
)

// Policies lists them in the order in which a report has them.
func Policies() []string {
	return []string{Static, Seed, SeedPrompt, OursEWMA, OursHolt, OursSeasonal, Ours}
}

// Simulate runs a policy on curves, which must be of one length and step.
func Simulate(curves []Curve, name string, cfg Config) (*Result, error) {
	seconds, err := check(curves)
	if err != nil {
		return nil, err
	}
	if cfg, err = cfg.withDefaults(seconds); err != nil {
		return nil, err
	}
	w := newSimulation(curves, cfg, seconds)
	w.res.Policy, w.hourly = name, name == Seed
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
			w.res.Points[r][i].Wanted /= w.res.Each.Seconds()
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
			return 0, fmt.Errorf("backtest: %w: the curve of %s is %d s long, that of %s %d: cut them", ErrFormat, c.Region, c.seconds(), curves[0].Region, curves[0].seconds())
		case slices.ContainsFunc(curves[:i], func(o Curve) bool { return o.Region == c.Region }):
			return 0, fmt.Errorf("backtest: %w: two curves of %s", ErrFormat, c.Region)
		}
		for _, r := range c.Rate {
			if !(r >= 0 && r < 1e6) {
				return 0, fmt.Errorf("backtest: %w: %v new leases a second in %s: scale the curve", ErrFormat, r, c.Region)
			}
		}
	}
	return curves[0].seconds(), nil
}

// MostLeased is the greatest number of resources that would be leased at a time, on average, if nobody were refused.
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
	o := &ours{lim: w.cfg.Limits, margin: margin, series: make([]balancer.Series, n), profile: make([]balancer.Profile, n)}
	switch name {
	case Static:
		return nil, nil
	case Seed, SeedPrompt:
		return &proportional{count: make([]int, n), rate: make([]float64, n)}, nil
	case Ours:
		o.auto = true
	case OursEWMA:
	case OursHolt:
		o.method = balancer.Holt
	case OursSeasonal:
		o.method = balancer.Seasonal
	default:
		return nil, fmt.Errorf("backtest: policy %q is none of %q", name, Policies())
	}
	return o, nil
}
