package sink

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/instance"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Config configures a Consumer. Kafka must be set.
type Config struct {
	Kafka kafka.Cluster
	// Instance is the stable name of this process in the group: a restart under the same name takes
	// its partitions over at once. Defaults to the host name.
	Instance string
	// Grace is the time in which calls may end when their partition is revoked or the consumer
	// stops. Defaults to 3 s.
	Grace time.Duration
	// CommitInterval is the time between commits. Defaults to 1 s.
	CommitInterval time.Duration
	// SessionTimeout is the time after which the group removes a silent member. Defaults to 6 s.
	SessionTimeout time.Duration
	// Log receives events. Defaults to no log.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set. Its levels are read once, by New.
	Slog slog.Handler
}

// settings are what a Consumer runs, and how.
type settings struct {
	Config
	stream.Sink

	committable func(*partitionQueue) int64 // as (*partitionQueue).committable
}

func (c *Config) setDefaults() error {
	if c.Grace < 0 || c.CommitInterval < 0 || c.SessionTimeout < 0 {
		return fmt.Errorf("sink: Config.Grace is %s, CommitInterval %s and SessionTimeout %s: none may be negative; 0 is the default",
			c.Grace, c.CommitInterval, c.SessionTimeout)
	}
	c.Instance = cmp.Or(c.Instance, instance.Default())
	c.Grace = cmp.Or(c.Grace, 3*time.Second)
	c.CommitInterval = cmp.Or(c.CommitInterval, time.Second)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 6*time.Second)
	c.Log = slogger.Choose(c.Log, c.Slog)
	return nil
}
