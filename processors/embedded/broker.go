package embedded

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirhq/weir/events"
)

// Config of a Broker.
type Config struct {
	// DataDir keeps the log. Defaults to none: it is in memory.
	DataDir string
	// Port on 127.0.0.1. Defaults to any free one.
	Port int
	// Topics to create where they are missing.
	Topics []events.Topic
	// Log gets the broker's warnings.
	Log zerolog.Logger
}

// Broker is a running embedded Kafka.
type Broker struct{ cluster *kfake.Cluster }

// Start returns once the broker answers. Close it.
func Start(cfg Config) (*Broker, error) {
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(cfg.Port), kfake.WithLogger(logger{cfg.Log})}
	if cfg.DataDir != "" {
		opts = append(opts, kfake.DataDir(cfg.DataDir))
	}
	c, err := kfake.NewCluster(opts...)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use: choose another", cfg.Port)
	}
	if err != nil {
		return nil, fmt.Errorf("start embedded Kafka: %w", err)
	}
	for _, t := range cfg.Topics {
		if err := create(c, t); err != nil {
			c.Close()
			return nil, fmt.Errorf("create topic %s: %w", t.Name, err)
		}
	}
	return &Broker{c}, nil
}

// unsupported are settings of the catalogue that matter to a cluster of many brokers or large logs alone.
func unsupported() []string { return []string{"min.cleanable.dirty.ratio"} }

func create(c *kfake.Cluster, t events.Topic) error {
	if c.TopicInfo(t.Name) != nil {
		return nil
	}
	settings := t.Settings()
	for _, name := range unsupported() {
		delete(settings, name)
	}
	err := c.CreateTopic(t.Name, t.Partitions, settings)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}

// Addrs are the broker's addresses, host:port.
func (b *Broker) Addrs() []string { return slices.Clone(b.cluster.ListenAddrs()) }

// Close stops the broker and, with a DataDir, writes what is not yet on disk.
func (b *Broker) Close() error {
	b.cluster.Close()
	return nil
}

// logger passes the cluster's errors on as warnings, and its warnings for those who debug.
type logger struct{ log zerolog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Warn().Str("text", fmt.Sprintf(format, args...)).Msg("embedded_kafka")
	case kfake.LogLevelWarn: // such as a commit that took five milliseconds
		l.log.Debug().Str("text", fmt.Sprintf(format, args...)).Msg("embedded_kafka")
	default: // the rest is of interest to the cluster's authors
	}
}
