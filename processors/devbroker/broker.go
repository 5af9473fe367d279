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

	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Config is the configuration of a Broker. The zero value is a broker in memory without topics, on
// a free port.
type Config struct {
	// DataDir stores everything across restarts and crashes of the process. Only one process may
	// use it at a time. If it is empty, everything is in memory.
	DataDir string
	// Port on 127.0.0.1. 0 takes a free port.
	Port int
	// Topics are created if they are missing, with one replica. An existing topic must have the
	// same number of partitions.
	Topics []stream.Topic
	// TopicBytes is the size of a topic without compaction from which its oldest records are
	// deleted. Records that a group has not read are kept. Defaults to 256 MiB.
	TopicBytes int64
	// Interval is the time between two runs of the janitor. Defaults to 1 minute.
	Interval time.Duration
	// Log receives the broker's events. Defaults to no log.
	Log *zerolog.Logger
}

func (c *Config) setDefaults() {
	if c.TopicBytes == 0 {
		c.TopicBytes = 256 << 20
	}
	if c.Interval == 0 {
		c.Interval = time.Minute
	}
	c.Log = slogger.Choose(c.Log, nil)
}

// ClusterID is the id of a cluster of a dev broker.
const ClusterID = "weir-dev"

// Errors of Start.
var (
	// ErrInUse means that another process uses the port.
	ErrInUse = errors.New("port is in use")
	// ErrLocked means that another process uses the data directory.
	ErrLocked = errors.New("data directory is in use")
)

// Broker is a running Kafka broker in this process.
type Broker struct {
	cfg     Config
	cluster *kfake.Cluster
	addrs   []string
	lock    interface{ Close() error } // of DataDir; nil without one
	journal *journal                   // nil without DataDir
	janitor *janitor
	close   sync.Once
	full    *diskFull
}

// DiskFull returns the first error of a write to DataDir for which the disk had no space. nil means
// that every write had space. Clients of the broker get UNKNOWN_SERVER_ERROR for such a write.
func (b *Broker) DiskFull() error {
	if err := b.full.first.Load(); err != nil {
		return *err
	}
	return nil
}

// Start repairs DataDir if its last user was killed, starts a broker and creates the topics. The
// broker is ready when Start returns. Close it.
func Start(cfg Config) (*Broker, error) {
	cfg.setDefaults()
	b := &Broker{cfg: cfg, full: &diskFull{}}
	opts := []kfake.Opt{
		kfake.Ports(cfg.Port), kfake.ClusterID(ClusterID), kfake.WithLogger(kafkaLog{*cfg.Log, b.full}),
		kfake.ListenFn(listenGuarded(*cfg.Log)),
		kfake.BrokerConfigs(map[string]string{
			"log.cleaner.backoff.ms":     longestRetention, // the janitor compacts, because kfake does not wait for open transactions
			"log.retention.ms":           "-1",             // in kfake it would apply to compacted topics, too
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
		err = fmt.Errorf("start the dev broker: %w", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: %w: another process uses 127.0.0.1:%d: stop it, or choose another port", ErrInUse, err, cfg.Port)
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

// longestRetention is one year in milliseconds, the greatest value that every retention setting
// accepts.
const longestRetention = "31536000000"

// openDir locks DataDir for this process and repairs it.
func (b *Broker) openDir() (err error) {
	if err := os.MkdirAll(b.kafkaDir(), 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if b.lock, err = vfs.Default.Lock(filepath.Join(b.cfg.DataDir, "LOCK")); err != nil {
		b.lock = nil
		return fmt.Errorf("%w: another process uses %s: %w: stop it, or choose another directory", ErrLocked, b.cfg.DataDir, err)
	}
	b.journal = newJournal(b.cfg.DataDir, *b.cfg.Log)
	if err := repair(b.cfg.DataDir, b.journal, *b.cfg.Log); err != nil {
		return errors.Join(fmt.Errorf("repair data directory %s: %w", b.cfg.DataDir, err), b.unlock())
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

// Addrs returns the broker's addresses on the loopback interface.
func (b *Broker) Addrs() []string { return b.addrs }

// Kafka returns the cluster of this broker, for its clients.
func (b *Broker) Kafka() kafka.Cluster { return kafka.Cluster{Brokers: b.addrs} }

// MaxBytes returns the size that the topics with retention reach, in memory or in DataDir.
// Compacted topics and records that a group has not read come on top.
func (b *Broker) MaxBytes() (bytes int64) {
	for _, t := range b.cfg.Topics {
		if t.Cleanup == stream.CleanupDelete {
			bytes += b.cfg.TopicBytes
		}
	}
	return bytes
}

// Close stops the broker. With a DataDir, everything is on disk when Close returns. Close the
// clients first.
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

// makeTopics creates missing topics and checks existing ones.
func (b *Broker) makeTopics() error {
	for _, t := range b.cfg.Topics {
		if b.cluster.TopicInfo(t.Name) != nil {
			if n := len(b.cluster.PartitionInfos(t.Name)); n != int(t.Partitions) {
				return fmt.Errorf(
					"topic %s of %s has %d partitions and must have %d: another version wrote the data; use another data directory, or remove this one", t.Name, b.cfg.DataDir, n, t.Partitions)
			}
			continue
		}
		if err := b.cluster.CreateTopic(t.Name, t.Partitions, b.settings(t)); err != nil {
			return fmt.Errorf("create topic %s: %w", t.Name, err)
		}
	}
	return nil
}

// settings returns the topic's configuration with the additions of the dev broker.
func (b *Broker) settings(t stream.Topic) map[string]string {
	s := t.Settings()
	s["retention.bytes"] = "-1" // the janitor trims
	if _, set := s["segment.bytes"]; !set {
		// Retention deletes whole segments, so a trimmed topic stays small only with small
		// segments.
		s["segment.bytes"] = fmt.Sprint(max(256<<10, b.cfg.TopicBytes/int64(t.Partitions)/4))
	}
	return s
}
