package selection

import (
	"fmt"
	"slices"
	"time"
)

// Config has the datacentres and the thresholds. The zero value of a threshold has a default.
type Config struct {
	// Local is the reader's own datacentre.
	Local string
	// Ring has all datacentres in the order of the ring, Local included. Datasets and origins that
	// are not in it are ignored.
	Ring []string
	// Lag is the lag from which on a dataset is not fresh. Defaults to 5 s.
	Lag time.Duration
	// Deficit is the part of the events of 60 s, between 0 and 1, from which on a dataset that
	// lacks it is not complete. Defaults to 0.04: a loss of a quarter is then noticed within 14 s.
	Deficit float64
	// MinEvents is the number of events in 60 s below which the deficit decides nothing: it would
	// be chance. Defaults to 200.
	MinEvents uint64
	// Stale is the age of a health record from which on its dataset is not chosen. Defaults to 30
	// s.
	Stale time.Duration
	// Unusable is the age of the newest health record from which on the mode is FailSafe, and no
	// longer Degraded. Defaults to 10 minutes.
	Unusable time.Duration
	// LeaveAfter is the number of evaluations in a row that a chosen dataset has to be unhealthy
	// before another one is chosen. Defaults to 2.
	LeaveAfter int
	// ReturnAfter is how long Local has to be healthy before it is chosen again in place of another
	// healthy dataset. A dataset that is left only for the records that it has lost is left after
	// this time, too. Defaults to 30 s.
	ReturnAfter time.Duration
}

// setDefaults sets the thresholds that are zero. Its error names the field that no reader can use.
func (c *Config) setDefaults() error {
	if c.Lag == 0 {
		c.Lag = 5 * time.Second
	}
	if c.Deficit == 0 {
		c.Deficit = 0.04
	}
	if c.MinEvents == 0 {
		c.MinEvents = 200
	}
	if c.Stale == 0 {
		c.Stale = 30 * time.Second
	}
	if c.Unusable == 0 {
		c.Unusable = 10 * time.Minute
	}
	if c.LeaveAfter == 0 {
		c.LeaveAfter = 2
	}
	if c.ReturnAfter == 0 {
		c.ReturnAfter = 30 * time.Second
	}
	sorted := slices.Sorted(slices.Values(c.Ring))
	switch {
	case !slices.Contains(c.Ring, c.Local):
		return fmt.Errorf("the ring %v does not have the reader's own datacentre %q: add it", c.Ring, c.Local)
	case len(slices.Compact(sorted)) < len(c.Ring):
		return fmt.Errorf("the ring %v has a datacentre twice: each has one dataset", c.Ring)
	case c.Lag < 0, c.Deficit < 0, c.Deficit >= 1, c.LeaveAfter < 0, c.ReturnAfter < 0:
		return fmt.Errorf(
			"a lag of %v, a deficit of %v, %d evaluations and %v: durations and numbers are not negative, and a deficit is less than 1",
			c.Lag, c.Deficit, c.LeaveAfter, c.ReturnAfter)
	case c.Stale < c.Lag || c.Unusable < c.Stale:
		return fmt.Errorf("datasets lag from %v on, are stale from %v on and unusable from %v on: these times do not ascend", c.Lag,
			c.Stale, c.Unusable)
	}
	return nil
}

// order returns the datacentres in order of preference: Local, then those that follow it in the
// ring.
func (c *Config) order() []string {
	at := slices.Index(c.Ring, c.Local)
	return slices.Concat(c.Ring[at:], c.Ring[:at])
}
