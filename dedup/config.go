package dedup

import (
	"errors"
	"fmt"
	"time"
)

// The tables. The outputs are events.LeaseDuplicatesTopic, events.LeaseJournalTopic and those of Config.Output.
const (
	TableKeys   byte = 1 // client NUL pool NUL key -> Key
	TablePools  byte = 2 // client NUL pool -> settings
	TableCounts byte = 3 // "keys", "open" -> how many there are
)

// Config says how duplicates are ended. Its zero value lacks Output.
type Config struct {
	// Output returns the name of the output for lease.commands.<region>; false: there is no such region.
	Output func(region string) (name string, ok bool)
	// Skew is the most by which clocks differ; the agents' is the same. Defaults to 500 ms.
	Skew time.Duration
	// Margin is how long a row is remembered after all its versions that were seen are over, so that a change of one of them that
	// comes late, or again, is known as old. After that it is of a lease that is over. Defaults to 1 min.
	Margin time.Duration
	// Retry is after how long a command is said again if nothing came of it; it doubles up to MaxRetry. Defaults to 30 s.
	Retry time.Duration
	// MaxRetry is the longest time between two looks at an open duplicate. Defaults to 10 min.
	MaxRetry time.Duration
	// Retention is how long a resolved duplicate stays in lease.duplicates. Defaults to 1 h.
	Retention time.Duration
}

// settingsRetry is how long a key waits before it looks for its pool's settings again.
const settingsRetry = 5 * time.Second

func (cfg Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		of *time.Duration
		to time.Duration
	}{{&cfg.Skew, 500 * time.Millisecond}, {&cfg.Margin, time.Minute}, {&cfg.Retry, 30 * time.Second}, {&cfg.MaxRetry, 10 * time.Minute}, {&cfg.Retention, time.Hour}} {
		if *d.of == 0 {
			*d.of = d.to
		}
		if *d.of < time.Millisecond || *d.of > 100*24*time.Hour {
			return cfg, fmt.Errorf("dedup: a skew, margin, retry or time to keep of %v: each is between 1ms and 100 days", *d.of)
		}
	}
	switch {
	case cfg.Output == nil:
		return cfg, errors.New("dedup: Config.Output is nil: give the function that knows the outputs of regions")
	case cfg.MaxRetry < cfg.Retry:
		return cfg, fmt.Errorf("dedup: retry after %v, then after up to %v: the second is no shorter", cfg.Retry, cfg.MaxRetry)
	}
	return cfg, nil
}

// backoff is how long to wait after command number try, the first being 1.
func (cfg *Config) backoff(try int64) int64 {
	wait := cfg.Retry
	for ; try > 1 && wait < cfg.MaxRetry; try-- {
		wait *= 2
	}
	return min(wait, cfg.MaxRetry).Milliseconds()
}
