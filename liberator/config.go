package liberator

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The tables.
const (
	TableResources byte = 1 // client NUL pool NUL resource -> Resource
	TablePools     byte = 2 // client NUL pool -> settings
	TableBudgets   byte = 3 // client NUL pool NUL region -> when the next slot is
	TableCounts    byte = 4 // "leases" -> number of leases
)

// Config configures a Liberator. Output is required.
type Config struct {
	// Output returns the name of the output for lease.commands.<region>; false if the region is not
	// declared.
	Output func(region string) (name string, ok bool)
	// Skew is the greatest difference between clocks. Executors must have the same value. Defaults
	// to 500 ms.
	Skew time.Duration
	// BucketRate is how many resources per second are released to one bucket of a pool in a region.
	// Defaults to 200, a fifth of what DynamoDB takes.
	BucketRate int
	// Retry is the time after which a command is repeated if the row has not changed. It doubles up
	// to MaxRetry. Defaults to 30 s.
	Retry time.Duration
	// MaxRetry is the longest interval between two commands for one lease. Defaults to 10 min.
	MaxRetry time.Duration
}

// settingsRetry is the interval at which a lease looks for the settings of its pool. Each look is a
// write: at the first start on a large table many leases wait.
const settingsRetry = 30 * time.Second

// setDefaults sets defaults and returns an error for an invalid field.
func (cfg *Config) setDefaults() error {
	cfg.Skew = cmp.Or(cfg.Skew, 500*time.Millisecond)
	cfg.BucketRate = cmp.Or(cfg.BucketRate, 200)
	cfg.Retry = cmp.Or(cfg.Retry, 30*time.Second)
	cfg.MaxRetry = cmp.Or(cfg.MaxRetry, 10*time.Minute)
	switch {
	case cfg.Output == nil:
		return errors.New("liberator: Config.Output is nil: set the function that returns the outputs of regions")
	case cfg.Skew < 0 || cfg.Skew > time.Hour:
		return fmt.Errorf("liberator: Config.Skew is %v: use up to 1h", cfg.Skew)
	case cfg.BucketRate < 1 || cfg.BucketRate > 1_000_000:
		return fmt.Errorf("liberator: Config.BucketRate is %d per second: use 1 to 1,000,000", cfg.BucketRate)
	case cfg.Retry < time.Millisecond || cfg.MaxRetry < cfg.Retry:
		return fmt.Errorf("liberator: Config.Retry is %v, MaxRetry %v: use a Retry of at least 1ms, and a MaxRetry of at least Retry",
			cfg.Retry, cfg.MaxRetry)
	}
	return nil
}

// backoff returns the wait after a command, ms; the first command of a row version is number 0.
func (cfg *Config) backoff(try int64) int64 {
	wait := cfg.Retry
	for ; try > 0 && wait < cfg.MaxRetry; try-- {
		wait *= 2
	}
	return min(wait, cfg.MaxRetry).Milliseconds()
}
