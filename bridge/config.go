package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
)

// Config is how bridges work. Zero values of all but Regions, Table, DB and Streams work.
type Config struct {
	// Regions are those of the table: partition p of the bridge is Regions[p].
	Regions []string
	// Table is its name, the same in all regions.
	Table string
	// DB and Streams make the clients of a region. The bridge repeats requests by itself.
	DB      func(region string) *dynamodb.Client
	Streams func(region string) *dynamodbstreams.Client
	// Partitions is how many lease.changes has. Defaults to events.DefaultLeasePartitions.
	Partitions int32

	// PollMin is the pause after an answer that was not full, PollMax what it grows to while a shard has nothing new.
	// DynamoDB takes 5 requests a second of a shard. Default to 200 ms and 1 s.
	PollMin, PollMax time.Duration
	// ListInterval is how often all shards are listed, though children are looked for where their parent ends. Defaults to 30 s.
	ListInterval time.Duration
	// Requests is how many requests for records may be under way or waiting for the queue. Defaults to 8.
	Requests int
	// QueueBytes bounds what was read and is not handed over. Defaults to 4 MiB.
	QueueBytes int
	// Timeout is for one request. Defaults to 10 s.
	Timeout time.Duration

	// ScanRate is how many rows a second a scan reads that was asked for, or that makes good a gap. Defaults to 5000.
	ScanRate int
	// SweepInterval is in what time the whole table is read once, for ever: it makes good what a stream lost without a word. Below 0
	// never. Defaults to 24 h.
	SweepInterval time.Duration
	// HeartbeatInterval is how often the region's row of beats is written. Below 0 never. Defaults to 2 s.
	HeartbeatInterval time.Duration

	// Metrics receives figures, Board how each region stands. Default to nothing.
	Metrics  *Metrics
	Registry *StatusRegistry
	// Log is where a bridge says what it does. Defaults to nothing.
	Log *zerolog.Logger
}

func (c *Config) setDefaults() {
	c.Partitions = cmp.Or(c.Partitions, events.DefaultLeasePartitions)
	c.PollMin = cmp.Or(c.PollMin, 200*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, time.Second)
	c.ListInterval = cmp.Or(c.ListInterval, 30*time.Second)
	c.Requests = cmp.Or(c.Requests, 8)
	c.QueueBytes = cmp.Or(c.QueueBytes, 4<<20)
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
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
}

func (c *Config) check(partition int32) error {
	switch {
	case c.Table == "":
		return errors.New("bridge: no table: set leases.table")
	case c.DB == nil || c.Streams == nil:
		return errors.New("bridge: no clients: give the functions that make those of a region")
	case int(partition) >= len(c.Regions):
		return fmt.Errorf("bridge: partition %d is of no region, leases.regions has %d: give it no bridge", partition, len(c.Regions))
	case c.PollMin < 0 || c.ListInterval < 0 || c.Requests < 0 || c.QueueBytes < 0 || c.Timeout < 0 || c.ScanRate < 0 || c.Partitions < 1:
		return errors.New("bridge: a setting is negative: leave it out for its default")
	}
	return nil
}
