package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/processors/kafka"
)

// Config says where an Executor works. Region, Regions and Table must be set, and Kafka to Run.
type Config struct {
	// Region is whose rows are written. Regions are all that there are.
	Region  string
	Regions []string
	// Table is the table of leases. Its Attempts must be 1: an attempt is one request.
	Table *table.Table
	// TransferWait is for how long a resource is not available after its transfer. Defaults to 4 times Table.Skew and Table.Timeout,
	// which is the least.
	TransferWait time.Duration
	// Partitions is the number of partitions of the topic of results. Defaults to events.DefaultLeasePartitions.
	Partitions int32

	Kafka kafka.Cluster
	// Instance is the stable name of this process. Defaults to the host's name.
	Instance string
	// Concurrency is how many commands are carried out at once, at most. Defaults to 64.
	Concurrency int
	// Pending is how many commands of a partition wait in memory at most: while the region is down, all of them may. Defaults to
	// 2,000, and 1 MiB of them.
	Pending int
	// MaxRate is how many requests are made a second, at most. Defaults to what the table takes: it begins with 500, soon
	// doubles, and goes back when the table throttles.
	MaxRate int
	// Results takes what became of a command, and returns when it is safe. Defaults to the topic of results.
	Results func(ctx context.Context, partition int32, key, value []byte) error
	// DrawBucket gives a number from 0 to n-1: the sub-partition in which a resource becomes available. Defaults to any, as likely.
	DrawBucket func(n int) int

	// Log is where the executor says what it does. Defaults to nothing.
	Log *zerolog.Logger
	// Metrics receives its figures; those of several regions may share it. Defaults to nothing.
	Metrics *Metrics
}

const (
	startRate = 500 // requests a second
	minRate   = 25

	pendingBytes = 1 << 20 // of a partition's commands that wait in memory
)

func (c *Config) setDefaults() error {
	if err := lease.CheckName("region", c.Region, lease.MaxName); err != nil {
		return fmt.Errorf("executor: Config.Region: %w", err)
	}
	if !slices.Contains(c.Regions, c.Region) {
		return fmt.Errorf("executor: Config.Regions are %q, without Config.Region, %q: name all regions of the table", c.Regions, c.Region)
	}
	if c.Table == nil || c.Table.Timeout <= 0 || c.Table.Skew < 0 {
		return errors.New("executor: Config.Table needs a Timeout and a Skew")
	}
	if c.Table.Attempts != 1 {
		return fmt.Errorf("executor: Config.Table.Attempts is %d: set it to 1, since the clock must be read before each", c.Table.Attempts)
	}
	least := 4*c.Table.Skew + c.Table.Timeout
	if c.TransferWait == 0 {
		c.TransferWait = least
	}
	if c.TransferWait < least {
		return fmt.Errorf("executor: Config.Wait is %v: %v are the least, 4 times the clocks' skew of %v and a request of %v", c.TransferWait, least, c.Table.Skew, c.Table.Timeout)
	}
	if c.Partitions == 0 {
		c.Partitions = events.DefaultLeasePartitions
	}
	if c.Partitions < 0 || c.Concurrency < 0 || c.MaxRate < 0 || c.Pending < 0 {
		return fmt.Errorf("executor: Config.Partitions %d, Concurrency %d, MaxRate %d or Pending %d is negative", c.Partitions, c.Concurrency, c.MaxRate, c.Pending)
	}
	if c.Pending == 0 {
		c.Pending = 2000
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.DrawBucket == nil {
		c.DrawBucket = rand.IntN
	}
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	return nil
}
