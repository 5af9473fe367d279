package dedup

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The tables. The outputs are events.LeaseDuplicatesTopic, events.LeaseJournalTopic and those of
// Config.Output.
const (
	TableKeys   byte = 1 // client NUL pool NUL key -> Key
	TablePools  byte = 2 // client NUL pool -> settings
	TableCounts byte = 3 // "keys", "open" -> number of keys, of unresolved duplicates
)

// Config configures a Dedup. Output is required.
type Config struct {
	// Output returns the name of the output for lease.commands.<region>; false if the region is not
	// declared.
	Output func(region string) (name string, ok bool)
	// Skew is the greatest difference between clocks. Agents must have the same value. Defaults to
	// 500 ms.
	Skew time.Duration
	// Margin is how long a row is kept after all its seen versions are over. A late or repeated
	// change of one of them is recognized as old; later it would be of a lease that is over.
	// Defaults to 1 min.
	Margin time.Duration
	// Retry is the time after which a command is repeated if the row has not changed. It doubles up
	// to MaxRetry. Defaults to 30 s.
	Retry time.Duration
	// MaxRetry is the longest interval between two evaluations of an open duplicate. Defaults to
	// 10 min.
	MaxRetry time.Duration
	// Retention is how long a resolved duplicate stays in lease.duplicates. Defaults to 1 h.
	Retention time.Duration
}

// settingsRetry is the interval at which a key looks for the settings of its pool.
const settingsRetry = 5 * time.Second

// setDefaults sets defaults and returns an error for an invalid field.
func (cfg *Config) setDefaults() error {
	cfg.Skew = cmp.Or(cfg.Skew, 500*time.Millisecond)
	cfg.Margin = cmp.Or(cfg.Margin, time.Minute)
	cfg.Retry = cmp.Or(cfg.Retry, 30*time.Second)
	cfg.MaxRetry = cmp.Or(cfg.MaxRetry, 10*time.Minute)
	cfg.Retention = cmp.Or(cfg.Retention, time.Hour)
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Skew", cfg.Skew}, {"Margin", cfg.Margin}, {"Retry", cfg.Retry}, {"MaxRetry", cfg.MaxRetry}, {"Retention", cfg.Retention}} {
		if f.value < time.Millisecond || f.value > 100*24*time.Hour {
			return fmt.Errorf("dedup: Config.%s is %v: use 1ms to 100 days", f.name, f.value)
		}
	}
	switch {
	case cfg.Output == nil:
		return errors.New("dedup: Config.Output is nil: set the function that returns the outputs of regions")
	case cfg.MaxRetry < cfg.Retry:
		return fmt.Errorf("dedup: Config.MaxRetry is %v, less than Retry, %v: use at least Retry", cfg.MaxRetry, cfg.Retry)
	}
	return nil
}

// backoff returns the wait after a command, ms; the first command of a row version is number 1.
func (cfg *Config) backoff(try int64) int64 {
	wait := cfg.Retry
	for ; try > 1 && wait < cfg.MaxRetry; try-- {
		wait *= 2
	}
	return min(wait, cfg.MaxRetry).Milliseconds()
}
