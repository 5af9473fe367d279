package balancer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
)

// Config says what a Balancer balances. Only Regions must be given. The outputs are events.LeaseHeadroomTopic,
// events.LeaseJournalTopic, and events.LeaseCommandsTopic of each region.
type Config struct {
	// Regions are the names of all regions.
	Regions []string
	// Changes and Results are the input topics. Default to lease.changes and lease.results.
	Changes, Results string
	// Limits are those of the plans.
	Limits Limits
	// PlanInterval is the time between two plans of a pool. Defaults to 10 s.
	PlanInterval time.Duration
	// TickInterval is the time between two looks at what may run out, and between two figures of headroom at least. Defaults to 1 s.
	TickInterval time.Duration
	// Margin is how many standard deviations of the forecast's error are planned for beyond the forecast. Defaults to 2.
	Margin float64
	// ReturnShare is the share of leases that are expected to end and not to be renewed. Defaults to 0.8.
	ReturnShare float64
	// HeartbeatTimeout is the age of a region's heartbeat from which on nothing is moved to or from it. Defaults to 10 s.
	HeartbeatTimeout time.Duration
	// TransferTimeout is how long an executor may take to carry a transfer out. Defaults to 60 s.
	TransferTimeout time.Duration
	// MaxCommands is how many resources one task moves in one look at its pools. Defaults to 5000.
	MaxCommands int
}

const (
	headroomInterval = 4 * time.Second  // headroom that changed is told at most so often
	tableInterval    = 5 * time.Second  // and written to the table
	headroomMaxAge   = 5 * time.Minute  // and told, and written, at least so often: agents believe a row for twice that and a minute
	forgetAfter      = time.Minute      // a pool that is gone is forgotten; before, what is read again may bring it back
	maxForgotten     = 5000             // rows in one look at the pools
	grace            = 10 * time.Second // after a transfer's time, until it is given up
	nearWindow       = 5 * time.Second  // see View.Near
	scanQuiet        = 10 * time.Second // after news from a scan, until it is thought to be done
	maxTime          = 1 << 52          // ms; the last time that a change may name
	maxAhead         = 5 * time.Minute
)

func (c Config) withDefaults() (Config, error) {
	c.Limits.setDefaults()
	setDefault(&c.Changes, events.LeaseChangesTopic)
	setDefault(&c.Results, events.LeaseResultsTopic)
	setDefault(&c.PlanInterval, 10*time.Second)
	setDefault(&c.TickInterval, time.Second)
	setDefault(&c.Margin, 2)
	setDefault(&c.ReturnShare, 0.8)
	setDefault(&c.HeartbeatTimeout, 10*time.Second)
	setDefault(&c.TransferTimeout, time.Minute)
	setDefault(&c.MaxCommands, 5000)
	return c, c.check()
}

// Check says what is wrong with a configuration.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

func (c *Config) check() error {
	for i, r := range c.Regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return fmt.Errorf("balancer: %w", err)
		}
		if slices.Contains(c.Regions[:i], r) {
			return fmt.Errorf("balancer: region %q is there twice", r)
		}
	}
	switch {
	case len(c.Regions) == 0 || len(c.Regions) > events.MaxLeaseRegions:
		return fmt.Errorf("balancer: %d regions: 1 to %d are allowed", len(c.Regions), events.MaxLeaseRegions)
	case c.Changes == c.Results:
		return fmt.Errorf("balancer: changes and results are both topic %s: they hold different records", c.Changes)
	case c.TickInterval < 10*time.Millisecond || c.PlanInterval < c.TickInterval:
		return fmt.Errorf("balancer: a tick of %s and a plan every %s: the tick must be at least 10ms, the other not shorter", c.TickInterval, c.PlanInterval)
	case !(c.Margin >= 0 && !math.IsInf(c.Margin, 0)) || !(c.ReturnShare >= 0 && c.ReturnShare <= 1):
		return fmt.Errorf("balancer: margin %v, return %v: must not be negative, the return at most 1", c.Margin, c.ReturnShare)
	case c.HeartbeatTimeout < time.Millisecond || c.TransferTimeout < time.Second || c.MaxCommands < 1:
		return fmt.Errorf("balancer: fresh %s, patience %s, max commands %d: must be positive, the patience at least 1s", c.HeartbeatTimeout, c.TransferTimeout, c.MaxCommands)
	}
	return c.Limits.check()
}
