package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/processors/kafka"
)

// Config configures an Executor. Region, Regions and Table must be set, and Kafka for Run.
type Config struct {
	// Region is the region whose commands are carried out, through its endpoint.
	Region string
	// Regions are all regions of the table.
	Regions []string
	// Table is the lease table. Its Attempts must be 1: an attempt is one request.
	Table *table.Table
	// TransferWait is the time after a transfer in which the resource is not available. Defaults to
	// the minimum: 4 times Table.Skew, plus Table.Timeout.
	TransferWait time.Duration
	// Partitions is the number of partitions of lease.results. Defaults to
	// events.DefaultLeasePartitions.
	Partitions int32

	// Kafka is the cluster of the commands and results.
	Kafka kafka.Cluster
	// Instance is the stable name of this process, see sink.Config. Defaults to the host name.
	Instance string
	// Concurrency bounds the commands that are carried out concurrently. Defaults to 64.
	Concurrency int
	// Pending bounds the commands of a partition in memory, see stream.Sink. Defaults to 2,000, and
	// 1 MiB of them.
	Pending int
	// MaxRate bounds the requests per second. Defaults to what the table accepts: the rate begins
	// at 500, grows quickly, and falls when the table throttles.
	MaxRate int
	// PublishResult writes the result of a command, and returns when it is safe. Defaults to
	// lease.results.
	PublishResult func(ctx context.Context, partition int32, key, value []byte) error
	// DrawBucket returns a number from 0 to n-1: the bucket in which a resource becomes available.
	// Defaults to a random number.
	DrawBucket func(n int) int

	// Log receives events. Defaults to no log.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set. Its levels are read once, by New.
	Slog slog.Handler
	// Metrics receives the metrics. The executors of several regions may share it. Defaults to
	// unregistered ones.
	Metrics *Metrics
}

const (
	startRate = 500 // requests per second
	minRate   = 25

	pendingBytes = 1 << 20 // bound of a partition's commands in memory
)

func (c *Config) setDefaults() error {
	if err := lease.CheckName("region", c.Region, lease.MaxName); err != nil {
		return fmt.Errorf("executor: Config.Region: %w", err)
	}
	if !slices.Contains(c.Regions, c.Region) {
		return fmt.Errorf("executor: Config.Regions is %q, without Config.Region %q: name all regions of the table", c.Regions, c.Region)
	}
	if c.Table == nil || c.Table.Timeout <= 0 || c.Table.Skew < 0 {
		return errors.New("executor: Config.Table needs a Timeout and a Skew")
	}
	if c.Table.Attempts != 1 {
		return fmt.Errorf("executor: Config.Table.Attempts is %d: set it to 1, because the clock must be read before each attempt",
			c.Table.Attempts)
	}
	least := 4*c.Table.Skew + c.Table.Timeout
	if c.TransferWait == 0 {
		c.TransferWait = least
	}
	if c.TransferWait < least {
		return fmt.Errorf("executor: Config.TransferWait is %v: set it to at least %v, 4 times Table.Skew of %v plus Table.Timeout of %v",
			c.TransferWait, least, c.Table.Skew, c.Table.Timeout)
	}
	if c.Partitions == 0 {
		c.Partitions = events.DefaultLeasePartitions
	}
	if c.Partitions < 0 || c.Concurrency < 0 || c.MaxRate < 0 || c.Pending < 0 {
		return fmt.Errorf(
			"executor: Config.Partitions is %d, Concurrency %d, MaxRate %d and Pending %d: none may be negative; 0 is the default",
			c.Partitions, c.Concurrency, c.MaxRate, c.Pending)
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
	c.Log = slogger.Choose(c.Log, c.Slog)
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	return nil
}
