package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// ErrConfig is wrapped by errors about settings that are not possible.
var ErrConfig = errors.New("backtest")

// Group is a number of agents with equal resources.
type Group struct {
	N   int
	Has []string // resources that the agents always have
}

// Config is what runs the jobs. All fields but Agents may be zero.
type Config struct {
	// Agents are the agents. See Alike.
	Agents []Group
	// Slots is how many jobs an agent runs at a time. Defaults to 1.
	Slots int
	// Associations is how many resources an agent keeps, beside those of its group:
	// jobqueue.Config.Associations. Defaults to 1.
	Associations int
	// Load is how long a job loads the resources that it prefers, if its agent has none of them.
	Load time.Duration
	// MaxWait is the wait after which a job comes before all that waited less:
	// jobqueue.Config.MaxPendingWait. Result.Late counts the jobs that waited longer. Defaults to
	// 10 minutes.
	MaxWait time.Duration
}

// Limits of a Config.
const (
	maxAgents = 10_000
	maxSlots  = 1000
)

// Alike returns n agents that have all resources that jobs of a trace require.
func Alike(t *Trace, n int) []Group { return []Group{{N: n, Has: t.Required()}} }

// withDefaults returns c with its defaults. The error wraps ErrConfig.
func (c Config) withDefaults(t *Trace) (Config, error) {
	c.Slots = cmp.Or(c.Slots, 1)
	c.Associations = cmp.Or(c.Associations, 1)
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Minute)
	agents := 0
	for _, g := range c.Agents {
		if g.N < 1 || g.N > maxAgents {
			return c, fmt.Errorf("%w: %d agents, and 1 to %d are possible", ErrConfig, g.N, maxAgents)
		}
		agents += g.N
	}
	switch {
	case agents < 1 || agents > maxAgents:
		return c, fmt.Errorf("%w: %d agents, and 1 to %d are possible", ErrConfig, agents, maxAgents)
	case c.Slots < 1 || c.Slots > maxSlots:
		return c, fmt.Errorf("%w: %d slots of an agent, and 1 to %d are possible", ErrConfig, c.Slots, maxSlots)
	case c.Associations < 1 || c.Associations > 1000:
		return c, fmt.Errorf("%w: an agent keeps %d resources, and 1 to 1000 are possible", ErrConfig, c.Associations)
	case c.Load < 0 || c.Load > maxDelay:
		return c, fmt.Errorf("%w: loading takes %v, and 0s to %v are possible", ErrConfig, c.Load, maxDelay)
	case c.MaxWait < time.Millisecond || c.MaxWait > maxDelay:
		return c, fmt.Errorf("%w: a longest wait of %v, and 1ms to %v are possible", ErrConfig, c.MaxWait, maxDelay)
	}
	return c, c.checkRequired(t)
}

// checkRequired returns an error if no agent can run a job.
func (c *Config) checkRequired(t *Trace) error {
	for i := range t.Classes {
		class := &t.Classes[i]
		if !slices.ContainsFunc(c.Agents, func(g Group) bool { return g.runs(class) }) {
			return fmt.Errorf("%w: jobs require %s, and no agent has that", ErrConfig, strings.Join(class.Require, " and "))
		}
	}
	return nil
}

// runs reports whether the agents have what a class requires.
func (g *Group) runs(class *jobqueue.Spec) bool {
	return !slices.ContainsFunc(class.Require, func(name string) bool { return !slices.Contains(g.Has, name) })
}
