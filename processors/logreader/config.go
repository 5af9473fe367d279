package logreader

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/processors/kafka"
)

// Config configures a Reader. Kafka must be set.
type Config struct {
	// Kafka is the cluster that is read.
	Kafka kafka.Cluster
	// Partitions is the number of partitions that each topic must have: one with another number is
	// not read (PartitionsError). 0: any number.
	Partitions int
	// QueueBytes bounds the bytes of a partition's records that wait for Next: at the bound,
	// fetching pauses. Defaults to 1 MiB.
	QueueBytes int
	// FetchBytes bounds one fetch of a broker. Defaults to 8 MiB.
	FetchBytes int32
	// AskInterval is the time between questions for topic ids and offsets. Defaults to 1 s.
	AskInterval time.Duration
}

func (c *Config) setDefaults() {
	c.QueueBytes = cmp.Or(c.QueueBytes, 1<<20)
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.AskInterval = cmp.Or(c.AskInterval, time.Second)
}
