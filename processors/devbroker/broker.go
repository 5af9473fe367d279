package devbroker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
)

// Config is how a Broker runs. Its zero value is a broker in memory without topics, on a port that is free.
type Config struct {
	// DataDir keeps everything across restarts, crashes of the process included. Empty: memory only. One process at a time.
	DataDir string
	// Port on 127.0.0.1. 0 takes a free one.
	Port int
	// Topics are created where they are missing, with one copy. An existing one must have the same number of partitions.
	Topics []events.Topic
	// TopicBytes is how large a topic that is not compacted may grow before its oldest records go; what a group has not
	// read stays. Defaults to 256 MiB.
	TopicBytes int64
	// Interval is how often the broker trims and compacts. Defaults to 1 minute.
	Interval time.Duration
	// Log is where it says what it does. Its zero value says nothing.
	Log zerolog.Logger
}

func (c *Config) setDefaults() {
	if c.TopicBytes == 0 {
		c.TopicBytes = 256 << 20
	}
	if c.Interval == 0 {
		c.Interval = time.Minute
	}
}

// ErrInUse says that the port or the data directory is taken.
var ErrInUse = errors.New("in use")

// Broker is a running Kafka broker in this process.
type Broker struct {
	cfg     Config
	cluster *kfake.Cluster
	addrs   []string
	lock    interface{ Close() error } // of DataDir; nil without one
	journal *journal                   // nil without DataDir
	janitor *janitor
	close   sync.Once
}

// Start makes DataDir whole if its last user died, starts a broker and creates the topics. It is ready when Start
// returns. Close it.
func Start(cfg Config) (*Broker, error) {
	cfg.setDefaults()
	b := &Broker{cfg: cfg}
	opts := []kfake.Opt{
		kfake.Ports(cfg.Port), kfake.ClusterID("weir-dev"), kfake.WithLogger(kafkaLog{cfg.Log}),
		kfake.BrokerConfigs(map[string]string{
			"log.cleaner.backoff.ms":     longestRetention, // the tender compacts: by itself the broker would do it at the wrong moment
			"log.retention.ms":           "-1",             // it holds for compacted topics too, there
			"default.replication.factor": "1", "min.insync.replicas": "1",
		}),
	}
	if cfg.DataDir != "" {
		if err := b.openDir(); err != nil {
			return nil, err
		}
		opts = append(opts, kfake.DataDir(b.kafkaDir()))
	}
	var err error
	if b.cluster, err = kfake.NewCluster(opts...); err != nil {
		err = fmt.Errorf("start embedded broker: %w", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: %w: 127.0.0.1:%d belongs to another process: stop it, or take another port", ErrInUse, err, cfg.Port)
		}
		return nil, errors.Join(err, b.unlock())
	}
	b.addrs = b.cluster.ListenAddrs()
	if err := b.makeTopics(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if b.journal != nil {
		b.journal.watch(b.cluster)
	}
	b.janitor = newJanitor(b)
	go b.janitor.run()
	cfg.Log.Info().Strs("addrs", b.addrs).Str("data_dir", cfg.DataDir).Msg("broker_started")
	return b, nil
}

// longestRetention is about a year, in milliseconds: the longest that fits all places.
const longestRetention = "31536000000"

// openDir takes DataDir for this process and repairs it.
func (b *Broker) openDir() (err error) {
	if err := os.MkdirAll(b.kafkaDir(), 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	if b.lock, err = vfs.Default.Lock(filepath.Join(b.cfg.DataDir, "LOCK")); err != nil {
		b.lock = nil
		return fmt.Errorf("%w: data directory %s belongs to another process: %w: stop it, or take another directory", ErrInUse, b.cfg.DataDir, err)
	}
	b.journal = newJournal(b.cfg.DataDir, b.cfg.Log)
	if err := repair(b.cfg.DataDir, b.journal, b.cfg.Log); err != nil {
		return errors.Join(fmt.Errorf("make data directory %s whole: %w", b.cfg.DataDir, err), b.unlock())
	}
	return nil
}

func (b *Broker) kafkaDir() string { return filepath.Join(b.cfg.DataDir, "kafka") }

func (b *Broker) unlock() error {
	if b.lock == nil {
		return nil
	}
	err := b.lock.Close()
	b.lock = nil
	return err
}

// Addrs are the broker's addresses, on the loopback interface.
func (b *Broker) Addrs() []string { return b.addrs }

// Kafka is how to reach the broker.
func (b *Broker) Kafka() kafka.Cluster { return kafka.Cluster{Brokers: b.addrs} }

// Close stops the broker; with a DataDir, everything is on disk when it returns. Clients should be closed before.
func (b *Broker) Close() (err error) {
	b.close.Do(func() {
		if b.janitor != nil {
			b.janitor.stop()
		}
		b.cluster.Close()
		if b.journal != nil {
			err = b.journal.end()
		}
		err = errors.Join(err, b.unlock())
	})
	return err
}

// makeTopics creates what is missing and checks what is there.
func (b *Broker) makeTopics() error {
	for _, t := range b.cfg.Topics {
		if b.cluster.TopicInfo(t.Name) != nil {
			if n := len(b.cluster.PartitionInfos(t.Name)); n != int(t.Partitions) {
				return fmt.Errorf("topic %s of %s has %d partitions and must have %d: the data is of another version; use another data directory, or remove this one", t.Name, b.cfg.DataDir, n, t.Partitions)
			}
			continue
		}
		if err := b.cluster.CreateTopic(t.Name, t.Partitions, b.settings(t)); err != nil {
			return fmt.Errorf("create topic %s: %w", t.Name, err)
		}
	}
	return nil
}

// settings are the topic's own, and what the embedded broker needs besides.
func (b *Broker) settings(t events.Topic) map[string]string {
	s := t.Settings()
	s["retention.bytes"] = "-1" // the tender trims
	if _, set := s["segment.bytes"]; !set {
		// Files go as a whole: small ones, or a trimmed topic keeps its size.
		s["segment.bytes"] = fmt.Sprint(max(256<<10, b.cfg.TopicBytes/int64(t.Partitions)/4))
	}
	return s
}
