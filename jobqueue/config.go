package jobqueue

import (
	"fmt"
	"time"
)

// Order is the order among signatures that are equally good for an agent.
type Order uint8

// The orders.
const (
	FIFO    Order = iota // the lowest id first
	Fastest              // the signature with the shortest mean run time first, then the lowest id
)

// Config has the settings of a queue. Its zero value works. A replay needs the settings with which
// the decisions were made.
type Config struct {
	// Lease is how long an agent has a job without a heartbeat. Defaults to 1 minute.
	Lease time.Duration
	// MaxAttempts is how often a job is tried, 1 to 200. Defaults to 5.
	MaxAttempts int
	// Backoff is the longest wait before the first retry. It doubles with each further retry, and
	// each wait is between its half and the whole. Defaults to 1 second.
	Backoff time.Duration
	// MaxBackoff limits the backoff. Defaults to 5 minutes.
	MaxBackoff time.Duration
	// MaxPendingWait is the wait after which a job comes before all others that waited less,
	// whatever their priorities. Defaults to 10 minutes.
	MaxPendingWait time.Duration
	// WaitTarget is how long a job should wait at most: for alarms and advice on the number of
	// agents. It decides nothing. Defaults to 1 minute.
	WaitTarget time.Duration
	// Blacklist is how long an agent does not get a job again whose attempt failed there. Defaults
	// to 1 minute; negative: not at all.
	Blacklist time.Duration
	// Associations is how many resources an agent is associated with, beside those that it
	// declares. The least recently used one is dropped. Defaults to 16.
	Associations int
	// MaxResources limits the number of different resource names. Defaults to 10,000.
	MaxResources int
	// Order is the order among signatures that are equally good. Defaults to FIFO.
	Order Order
}

func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&c.Lease, time.Minute},
		{&c.Backoff, time.Second},
		{&c.MaxBackoff, 5 * time.Minute},
		{&c.MaxPendingWait, 10 * time.Minute},
		{&c.WaitTarget, time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
		if *d.value < time.Millisecond || *d.value > 1000*time.Hour {
			return c, fmt.Errorf("%w setting: a duration of %v is not between 1 ms and 1000 h", ErrInvalid, *d.value)
		}
	}
	for _, d := range []struct {
		value   *int
		or, max int
	}{
		{&c.MaxAttempts, 5, 200},
		{&c.Associations, 16, 1000},
		{&c.MaxResources, 10_000, 1_000_000},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
		if *d.value < 0 || *d.value > d.max {
			return c, fmt.Errorf("%w setting: %d is not between 1 and %d", ErrInvalid, *d.value, d.max)
		}
	}
	if c.Blacklist == 0 {
		c.Blacklist = time.Minute
	}
	if c.Order > Fastest {
		return c, fmt.Errorf("%w setting: order %d does not exist", ErrInvalid, c.Order)
	}
	return c, nil
}

// backoff returns the wait before the retry after a failed try, in ms. It hashes the jitter from id
// and attempt, so that jobs that failed together do not return together.
func (c *Config) backoff(id ID, attempt uint8, try int) int64 {
	longest, most := c.Backoff.Milliseconds(), c.MaxBackoff.Milliseconds()
	for ; try > 1 && longest < most; try-- {
		longest *= 2
	}
	longest = min(longest, most)
	x := uint64(id)<<8 | uint64(attempt)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return longest/2 + int64(x%uint64(longest-longest/2+1))
}
