package push

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// Config configures the push to one target. DC, Target, Source, Copies, Dataset, Copy, Tables and
// Partitions must be set.
type Config struct {
	// DC is the name of this datacentre, and Target that of the other one.
	DC, Target string
	// Source is the Kafka of this datacentre, and Copies that of the target.
	Source, Copies kafka.Cluster
	// Dataset is the topic of the rows here, and Copy that of their copies at the target.
	Dataset, Copy string
	// Tables are the first bytes of the keys that are copied. Health is the one of them that is
	// behind the rows of its transaction, and must be in the copy, too.
	Tables []byte
	Health byte
	// Partitions is the number of partitions of both topics.
	Partitions int32
	// App is the name of the application, and State, Control and DLQ the names of its changelog, of
	// its input topic, which has no records, and of its dead-letter topic: all at the target.
	// Default to events.PushApp and the topics of events.PushCatalog.
	App, State, Control, DLQ string

	// Interval is the time between two batches of a partition. Defaults to 1 s.
	Interval time.Duration
	// TombstonesKept is the setting delete.retention.ms of the dataset. Defaults to a week.
	TombstonesKept time.Duration
	// HealthAge is the greatest age of a health record that is pushed. Defaults to 20 s. It must be
	// less than the setting min.compaction.lag.ms of the dataset, by more than the difference of
	// two clocks.
	HealthAge time.Duration
	// QueueBytes bounds what a partition has read and not committed. Rows are handed over before
	// Interval has passed when they have half of it. Defaults to 2 MiB.
	QueueBytes int
	// ReaderBytes bounds what is read ahead of one partition, see logreader.Config.QueueBytes.
	// Defaults to 256 KiB.
	ReaderBytes int

	// Metrics receives the metrics. Defaults to unregistered ones.
	Metrics *Metrics
	// Registry receives the status of each partition. Defaults to a registry of its own.
	Registry *StatusRegistry
	// Log receives events. Defaults to no log.
	Log *zerolog.Logger

	reader    *logreader.Reader // of the dataset, to follow it
	copyTopic *copyTopic
	comparing *semaphore.Weighted
	outage    *outage
}

// ErrConfig means that a field of Config is missing or invalid. For errors.Is.
var ErrConfig = errors.New("push")

// maxComparing is the number of partitions that compare at a time.
const maxComparing = 4

func (c *Config) setDefaults() {
	c.App = cmp.Or(c.App, events.PushApp(c.DC, c.Target))
	c.State = cmp.Or(c.State, events.PushStateTopic(c.DC, c.Target))
	c.Control = cmp.Or(c.Control, events.PushControlTopic(c.DC, c.Target))
	c.DLQ = cmp.Or(c.DLQ, events.PushDLQTopic(c.DC, c.Target))
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.TombstonesKept = cmp.Or(c.TombstonesKept, 7*24*time.Hour)
	c.HealthAge = cmp.Or(c.HealthAge, 20*time.Second)
	c.QueueBytes = cmp.Or(c.QueueBytes, 2<<20)
	c.ReaderBytes = cmp.Or(c.ReaderBytes, 256<<10)
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Registry == nil {
		c.Registry = &StatusRegistry{}
	}
	if c.Log == nil {
		none := zerolog.Nop()
		c.Log = &none
	}
	log := c.Log.With().Str("target", c.Target).Logger()
	c.Log = &log
	c.reader = logreader.New(c.read(c.Source))
	c.copyTopic = newCopyTopic(c)
	c.comparing = semaphore.NewWeighted(maxComparing)
	c.outage = &outage{log: log, waiting: map[int32]bool{}}
}

// read returns the configuration of a reader.
func (c *Config) read(k kafka.Cluster) logreader.Config {
	return logreader.Config{Kafka: k, Partitions: int(c.Partitions), QueueBytes: c.ReaderBytes}
}

func (c *Config) check() error {
	switch {
	case events.ValidateDC(c.DC) != nil:
		return fmt.Errorf("%w: Config.DC: %w", ErrConfig, events.ValidateDC(c.DC))
	case events.ValidateDC(c.Target) != nil:
		return fmt.Errorf("%w: Config.Target: %w", ErrConfig, events.ValidateDC(c.Target))
	case c.DC == c.Target:
		return fmt.Errorf("%w: Config.Target is %s, the own datacentre: name another one", ErrConfig, c.DC)
	case c.Dataset == "" || c.Copy == "":
		return fmt.Errorf("%w: Config.Dataset or Config.Copy is empty: name the topic here and the topic at %s", ErrConfig, c.Target)
	case len(c.Tables) == 0 || !slices.Contains(c.Tables, c.Health):
		return fmt.Errorf("%w: Config.Tables does not have Config.Health: list the tables that are copied, and that of the health records",
			ErrConfig)
	case c.Partitions < 1 || c.QueueBytes < 0 || c.ReaderBytes < 0 || c.Interval < 0 || c.TombstonesKept < 0 || c.HealthAge < 0:
		return fmt.Errorf(
			"%w: Config.Partitions is less than 1, or a limit is negative: set the number of partitions, and leave limits 0 for their defaults", ErrConfig)
	}
	return nil
}
