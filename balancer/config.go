package balancer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
)

// Config configures a Balancer. Regions is required. The outputs are events.LeaseHeadroomTopic,
// events.LeaseJournalTopic, and each region's events.LeaseCommandsTopic.
type Config struct {
	// Regions are the names of all regions.
	Regions []string
	// Changes and Results are the input topics. Default to lease.changes and lease.results.
	Changes, Results string
	// Limits are the limits of the plans.
	Limits plan.Limits
	// PlanInterval is the time between two plans of a pool. Defaults to 10 s.
	PlanInterval time.Duration
	// TickInterval is the time between two evaluations of the pools, which pull for regions that
	// are about to run out. Defaults to 1 s.
	TickInterval time.Duration
	// Margin is how many standard deviations of the forecast's error are added to the forecast.
	// Defaults to 2.
	Margin float64
	// ReturnShare is the share of leases that are expected to end without a renewal. Defaults to
	// 0.8.
	ReturnShare float64
	// HeartbeatTimeout is the age of a region's last heartbeat from which on nothing moves to or
	// from the region. Defaults to 10 s.
	HeartbeatTimeout time.Duration
	// TransferTimeout is how long an executor may take to carry out a transfer. Defaults to 60 s.
	TransferTimeout time.Duration
	// MaxCommands is how many resources one task moves in one tick. Defaults to 5000.
	MaxCommands int
}

const (
	headroomInterval = 4 * time.Second // least time between two records of a changed headroom
	tableInterval    = 5 * time.Second // least time between two writes of it to the table
	// headroomMaxAge is the longest time without a record of the headroom and a write of it to the
	// table. Agents trust a row for twice that and a minute.
	headroomMaxAge = 5 * time.Minute
	forgetAfter    = time.Minute      // time until an empty pool is forgotten: a replay may bring it back before
	maxForgotten   = 5000             // deleted rows in one tick
	grace          = 10 * time.Second // from a transfer's timeout until it is given up
	nearWindow     = 5 * time.Second  // see View.ReturningSoon
	scanQuiet      = 10 * time.Second // time without a new scanned row after which a scan is taken for done
	maxTime        = 1 << 52          // ms; the greatest valid time
	maxAhead       = 5 * time.Minute  // of a change, before its record
)

// setDefaults sets defaults and returns an error for an invalid field.
func (c *Config) setDefaults() error {
	c.Changes = cmp.Or(c.Changes, events.LeaseChangesTopic)
	c.Results = cmp.Or(c.Results, events.LeaseResultsTopic)
	c.PlanInterval = cmp.Or(c.PlanInterval, 10*time.Second)
	c.TickInterval = cmp.Or(c.TickInterval, time.Second)
	c.Margin = cmp.Or(c.Margin, 2)
	c.ReturnShare = cmp.Or(c.ReturnShare, 0.8)
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, 10*time.Second)
	c.TransferTimeout = cmp.Or(c.TransferTimeout, time.Minute)
	c.MaxCommands = cmp.Or(c.MaxCommands, 5000)
	return c.check()
}

// Check returns an error if the configuration is invalid.
func (c Config) Check() error {
	return c.setDefaults()
}

func (c *Config) check() error {
	for i, r := range c.Regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return fmt.Errorf("balancer: %w", err)
		}
		if slices.Contains(c.Regions[:i], r) {
			return fmt.Errorf("balancer: Config.Regions has %q twice", r)
		}
	}
	switch {
	case len(c.Regions) == 0 || len(c.Regions) > events.MaxLeaseRegions:
		return fmt.Errorf("balancer: Config.Regions has %d regions: use 1 to %d", len(c.Regions), events.MaxLeaseRegions)
	case c.Changes == c.Results:
		return fmt.Errorf("balancer: Config.Changes and Results are both topic %s: use two topics", c.Changes)
	case c.TickInterval < 10*time.Millisecond || c.PlanInterval < c.TickInterval:
		return fmt.Errorf(
			"balancer: Config.TickInterval is %s, PlanInterval %s: use at least 10ms, and a PlanInterval of at least TickInterval",
			c.TickInterval, c.PlanInterval)
	case !(c.Margin >= 0 && !math.IsInf(c.Margin, 0)) || !(c.ReturnShare >= 0 && c.ReturnShare <= 1):
		return fmt.Errorf("balancer: Config.Margin is %v, ReturnShare %v: use at least 0, and a ReturnShare of at most 1", c.Margin,
			c.ReturnShare)
	case c.HeartbeatTimeout < time.Millisecond || c.TransferTimeout < time.Second || c.MaxCommands < 1:
		return fmt.Errorf(
			"balancer: Config.HeartbeatTimeout is %s, TransferTimeout %s, MaxCommands %d: use positive values, and a TransferTimeout of at least 1s", c.HeartbeatTimeout, c.TransferTimeout, c.MaxCommands)
	}
	return c.Limits.Check()
}
