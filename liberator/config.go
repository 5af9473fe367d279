package liberator

import (
	"errors"
	"fmt"
	"time"
)

// The tables that the runtime must wire up.
const (
	TableResources byte = 1 // client NUL pool NUL resource -> Resource
	TablePools     byte = 2 // client NUL pool -> settings
	TableBudgets   byte = 3 // client NUL pool NUL region -> when the next slot is
	TableCounts    byte = 4 // "leases" -> how many leases are watched
)

// Config says how leases are ended. Its zero value lacks Output.
type Config struct {
	// Output returns the name of the output for lease.commands.<region>; false: there is no such region.
	Output func(region string) (name string, ok bool)
	// Skew is the most by which clocks differ; the executors' is the same. Defaults to 500 ms.
	Skew time.Duration
	// BucketRate is how many resources a second are given back to one sub-partition of a pool in a region. Defaults to 200: a
	// fifth of what DynamoDB takes.
	BucketRate int
	// Retry is after how long a command is said again if nothing came of it; it doubles up to MaxRetry. Defaults to 30 s.
	Retry time.Duration
	// MaxRetry is the longest time between two commands for one lease. Defaults to 10 min.
	MaxRetry time.Duration
}

// settingsRetry is how long a lease waits before it looks for its pool's settings again. Each look is a write: at the first start on a
// large table there may be very many.
const settingsRetry = 30 * time.Second

func (cfg Config) withDefaults() (Config, error) {
	def := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	def(&cfg.Skew, 500*time.Millisecond)
	def(&cfg.Retry, 30*time.Second)
	def(&cfg.MaxRetry, 10*time.Minute)
	if cfg.BucketRate == 0 {
		cfg.BucketRate = 200
	}
	switch {
	case cfg.Output == nil:
		return cfg, errors.New("liberator: Config.Output is nil: give the function that knows the outputs of regions")
	case cfg.Skew < 0 || cfg.Skew > time.Hour:
		return cfg, fmt.Errorf("liberator: skew %v: it is between 0 and 1h", cfg.Skew)
	case cfg.BucketRate < 1 || cfg.BucketRate > 1_000_000:
		return cfg, fmt.Errorf("liberator: %d resources a second for a sub-partition: it is between 1 and 1,000,000", cfg.BucketRate)
	case cfg.Retry < time.Millisecond || cfg.MaxRetry < cfg.Retry:
		return cfg, fmt.Errorf("liberator: retry after %v, then after up to %v: the first is 1ms at least, the second no shorter", cfg.Retry, cfg.MaxRetry)
	}
	return cfg, nil
}

// backoff is how long to wait after command number try, the first being 0.
func (cfg *Config) backoff(try int64) int64 {
	wait := cfg.Retry
	for ; try > 0 && wait < cfg.MaxRetry; try-- {
		wait *= 2
	}
	return min(wait, cfg.MaxRetry).Milliseconds()
}
