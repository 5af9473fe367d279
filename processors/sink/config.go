package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/kafka"
)

// Config says what a Consumer reads and calls. Kafka, Group, Topic and Do must be set.
type Config struct {
	Kafka kafka.Cluster
	Group string
	Topic string
	// Instance is the stable name of this process among those of the group: a restart under the same name takes over at once.
	// Defaults to the host's name.
	Instance string
	// Do has the effect of a record. It must heed ctx, and may be called for a record more than once.
	Do func(ctx context.Context, r *Record) error
	// Key is what records must have in common to be done one after the other. Defaults to the record's key.
	Key func(r *Record) string

	// Concurrency is how many calls are under way at most. Defaults to 64.
	Concurrency int
	// PerPartition is how many of them are of one partition at most. Defaults to Concurrency.
	PerPartition int
	// Pending is how many records of a partition there are in memory, from the first that is not done to the last that was
	// fetched, before fetching pauses. Defaults to 20,000; one poll of 1,000 more may come.
	Pending int
	// PendingBytes is the same for the bytes of those that are not done. Defaults to 16 MiB.
	PendingBytes int
	// Grace is how long calls under way are awaited when their partition is taken away, or the consumer stops. Defaults to 3 s.
	Grace time.Duration
	// CommitInterval is the time between commits. Defaults to 1 s.
	CommitInterval time.Duration
	// RetryMin and RetryMax bound the pause before a record is tried again: it doubles from one to the other, less up to a
	// half by chance. Default to 100 ms and 10 s.
	RetryMin, RetryMax time.Duration
	// SessionTimeout is how long the group waits for a silent member. Defaults to 6 s.
	SessionTimeout time.Duration
	// SkipTrimmed goes on at the first record there is where retention took records before they were read, and says so. It is for effects
	// that somebody asks for again. Defaults to stopping the partition.
	SkipTrimmed bool
	// Log is where the consumer says what it does. Defaults to nothing.
	Log *zerolog.Logger

	committable func(*partitionQueue) int64 // as (*line).committable
}

func (c *Config) setDefaults() error {
	switch {
	case c.Group == "" || c.Topic == "":
		return errors.New("effects: name Config.Group and Config.Topic")
	case c.Do == nil:
		return errors.New("effects: Config.Do is what to do; set it")
	}
	if c.Instance == "" {
		if c.Instance, _ = os.Hostname(); c.Instance == "" {
			c.Instance = "weir"
		}
	}
	if c.Key == nil {
		c.Key = func(r *Record) string { return string(r.Key) }
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"Grace", &c.Grace, 3 * time.Second},
		{"CommitInterval", &c.CommitInterval, time.Second},
		{"RetryMin", &c.RetryMin, 100 * time.Millisecond},
		{"RetryMax", &c.RetryMax, 10 * time.Second},
		{"SessionTimeout", &c.SessionTimeout, 6 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
		if *d.v < 0 {
			return fmt.Errorf("effects: Config.%s is negative: %v", d.name, *d.v)
		}
	}
	for _, n := range []struct {
		name string
		v    *int
		def  int
	}{{"Concurrency", &c.Concurrency, 64}, {"PerPartition", &c.PerPartition, c.Concurrency}, {"Pending", &c.Pending, 20_000}, {"PendingBytes", &c.PendingBytes, 16 << 20}} {
		if *n.v == 0 {
			*n.v = n.def
		}
		if *n.v < 0 {
			return fmt.Errorf("effects: Config.%s is negative: %d", n.name, *n.v)
		}
	}
	if c.PerPartition == 0 {
		c.PerPartition = c.Concurrency
	}
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	if c.committable == nil {
		c.committable = (*partitionQueue).committable
	}
	return nil
}
