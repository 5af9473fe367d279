package processors

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
)

// Config is how a Processor runs. The zero value of each field but Kafka and Dir works.
type Config struct {
	Kafka kafka.Cluster
	// Dir holds the store. One process per directory.
	Dir string
	// FS is where Dir is. Defaults to the disk.
	FS vfs.FS
	// Instance is the stable name of this process among those of the application, part of its transactional ids and of
	// its static group membership: a restart under the same name takes over at once. Defaults to the host's name.
	Instance string
	// Endpoint is where other processes reach this one's API, host:port: Members tells. Defaults to nowhere.
	Endpoint string
	// Standbys is how many other processes keep the state of each partition warm: a partition whose process dies goes on at one
	// that has it. The group's leader decides by its own setting. Defaults to 0.
	Standbys int
	// Workers is the number of transactional sessions. While one waits in its commit or for a fetch others fold. Defaults to the
	// number of processors, 4 at least.
	Workers int
	// CommitInterval is the time between commits when caught up. Defaults to 100 ms.
	CommitInterval time.Duration
	// CommitIntervalMax is what the interval grows to when behind. Defaults to 1 s.
	CommitIntervalMax time.Duration
	// CommitRecords ends a transaction early. Defaults to 2,000,000 input records.
	CommitRecords int
	// CommitBytes ends a transaction before its changes take more, over all workers. Defaults to 32 MiB.
	CommitBytes int
	// PollRecords is the most that one poll returns. Defaults to 20,000.
	PollRecords int
	// Tick is how often Flush is called without input. Defaults to 1 s.
	Tick time.Duration
	// PoisonLimit is how many records in a row may panic before the partition stops. Defaults to 10.
	PoisonLimit int
	// SessionTimeout is how long the group waits for a silent member. Defaults to 6 s, the brokers' usual minimum.
	SessionTimeout time.Duration
	// TransactionTimeout is when the broker aborts a transaction by itself. Defaults to 10 s.
	TransactionTimeout time.Duration
	// CacheBytes is the block cache of the store. Defaults to 64 MiB.
	CacheBytes int64
	// MemtableBytes is what the write buffers of the store take at most. Defaults to 96 MiB.
	MemtableBytes int64
	// BallastBytes is the size of a file in Dir that is removed when the disk is full, so that the process can end in good
	// order; see ErrDiskFull. Below 0 there is none. Defaults to 64 MiB.
	BallastBytes int64
	// FetchBytes bounds what the fetches of a worker return, of all brokers together: 1 MiB of each at least. In memory that
	// becomes about ten times as much. Defaults to 8 MiB.
	FetchBytes int32
	// RemainInGroup keeps the static membership when Run returns: for a restart within the session timeout.
	RemainInGroup bool
	// AllowOldTransactions runs against brokers below transaction.version 2, where the protocol can tear a transaction.
	AllowOldTransactions bool
	// Log is where the runtime says what it does. Defaults to nothing.
	Log *zerolog.Logger
	// Metrics receives the runtime's figures. Defaults to nothing.
	Metrics *Metrics
	// Traces receives a span for each transaction, with the steps of its commit below it. Defaults to nothing.
	Traces trace.TracerProvider

	// refreshLag is how many input records the local tables of a standby may lack. Defaults to refreshBehind.
	refreshLag int64
	Range      *ReplayRange // where to begin and to end; nil: from the first record, without end
	// failpoint is called at every edge of the commit cycle; an error kills the worker there as a crash would.
	failpoint func(w *worker, at string) error
}

// Complete sets the fields that have defaults. New calls it.
func (c *Config) Complete() {
	c.FS = cmp.Or(c.FS, vfs.Default)
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "weir"
	}
	c.Instance = cmp.Or(c.Instance, host)
	c.Workers = cmp.Or(c.Workers, DefaultWorkers())
	c.CommitInterval = cmp.Or(c.CommitInterval, 100*time.Millisecond)
	c.CommitIntervalMax = cmp.Or(c.CommitIntervalMax, time.Second)
	c.CommitRecords = cmp.Or(c.CommitRecords, 2_000_000)
	c.CommitBytes = cmp.Or(c.CommitBytes, 32<<20)
	c.PollRecords = cmp.Or(c.PollRecords, 20_000)
	c.Tick = cmp.Or(c.Tick, time.Second)
	c.PoisonLimit = cmp.Or(c.PoisonLimit, 10)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 6*time.Second)
	c.TransactionTimeout = cmp.Or(c.TransactionTimeout, 10*time.Second)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.MemtableBytes = cmp.Or(c.MemtableBytes, 96<<20)
	c.BallastBytes = cmp.Or(c.BallastBytes, 64<<20)
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.refreshLag = cmp.Or(c.refreshLag, refreshLag)
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.failpoint == nil {
		c.failpoint = func(*worker, string) error { return nil }
	}
}

// database is what the store of c is opened with.
func (c *Config) database() *store.Options {
	return &store.Options{
		FS: c.FS, Dir: c.Dir, Instance: c.Instance, Log: c.Log,
		CacheBytes: c.CacheBytes, MemtableBytes: c.MemtableBytes, BallastBytes: c.BallastBytes,
	}
}

// DefaultWorkers is the number of workers of a Config that does not say.
func DefaultWorkers() int { return max(4, runtime.GOMAXPROCS(0)) }
