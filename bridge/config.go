package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/slogger"
)

// Config configures the bridges of all regions. Regions, Table, DB and Streams must be set.
type Config struct {
	// Regions are the regions of the table. Partition p of the processor is Regions[p], so the
	// order must stay, and new regions come at the end.
	Regions []string
	// Table is the name of the table, the same in all regions.
	Table string
	// DB and Streams make the clients of a region. Their retryers are not used: the bridge repeats
	// requests itself.
	DB      func(region string) *dynamodb.Client
	Streams func(region string) *dynamodbstreams.Client
	// Partitions is the number of partitions of lease.changes. Defaults to
	// events.DefaultLeasePartitions.
	Partitions int32

	// PollMin is the pause after a response that was not full. While a shard has no new records,
	// the pause grows to PollMax. DynamoDB accepts 5 requests per second and shard. Default to 200
	// ms and 1 s.
	PollMin, PollMax time.Duration
	// ListInterval is the time between listings of all shards. Besides, the children of a shard are
	// looked for when it ends. Defaults to 30 s.
	ListInterval time.Duration
	// Requests bounds the requests for records, with the responses that wait for room in the queue.
	// Defaults to 8.
	Requests int
	// QueueBytes bounds what was read and not committed, see stream.FromSource. Defaults to 4 MiB.
	QueueBytes int
	// Timeout bounds one request. Defaults to 10 s.
	Timeout time.Duration

	// ScanRate is how many rows per second a requested scan reads. Defaults to 5000.
	ScanRate int
	// SweepInterval is the time in which a sweep reads the whole table, again and again. It repairs
	// what a stream lost silently. Negative: no sweeps. Defaults to 24 h.
	SweepInterval time.Duration
	// HeartbeatInterval is the time between writes of the region's heartbeat row. Negative: no
	// heartbeats. Defaults to 2 s.
	HeartbeatInterval time.Duration

	// Metrics receives the metrics. Defaults to unregistered ones.
	Metrics *Metrics
	// Registry receives the status of each region. Defaults to a registry of its own.
	Registry *StatusRegistry
	// Log receives events. Defaults to no log.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set. Its levels are read once, by New.
	Slog slog.Handler
}

// Errors of New, for errors.Is.
var (
	// ErrConfig means that a field of Config is missing or invalid.
	ErrConfig = errors.New("bridge")
	// ErrRegionOrder means that Config.Regions has another region at the place of a partition than
	// the one whose positions the state holds.
	ErrRegionOrder = errors.New("bridge: the order of the regions changed")
)

// setDefaults sets defaults for a partition, and returns an error for an invalid field: ErrConfig.
func (c *Config) setDefaults(partition int32) error {
	c.Partitions = cmp.Or(c.Partitions, events.DefaultLeasePartitions)
	c.PollMin = cmp.Or(c.PollMin, 200*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, time.Second)
	c.ListInterval = cmp.Or(c.ListInterval, 30*time.Second)
	c.Requests = cmp.Or(c.Requests, 8)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.ScanRate = cmp.Or(c.ScanRate, 5000)
	c.SweepInterval = cmp.Or(c.SweepInterval, 24*time.Hour)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, 2*time.Second)
	c.PollMax = max(c.PollMax, c.PollMin)
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Registry == nil {
		c.Registry = &StatusRegistry{}
	}
	c.Log = slogger.Choose(c.Log, c.Slog)
	return c.check(partition)
}

func (c *Config) check(partition int32) error {
	switch {
	case c.Table == "":
		return fmt.Errorf("%w: Config.Table is empty: set it to the name of the lease table", ErrConfig)
	case c.DB == nil || c.Streams == nil:
		return fmt.Errorf("%w: Config.DB or Config.Streams is nil: set the functions that make the clients of a region", ErrConfig)
	case int(partition) >= len(c.Regions):
		return fmt.Errorf("%w: partition %d has no region, as Config.Regions has %d: make no bridge for it", ErrConfig, partition,
			len(c.Regions))
	case c.PollMin < 0 || c.ListInterval < 0 || c.Requests < 0 || c.QueueBytes < 0 || c.Timeout < 0 || c.ScanRate < 0 || c.Partitions < 1:
		return fmt.Errorf("%w: a limit or an interval of Config is negative: leave it 0 for its default", ErrConfig)
	}
	return nil
}
