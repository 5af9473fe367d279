package processors

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhq/weir/internal/instance"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors/internal/replayrange"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Config is the configuration of a Runtime. Kafka and Dir must be set. The zero value of every
// other field works.
type Config struct {
	// Kafka is the address of the cluster.
	Kafka kafka.Cluster
	// Dir is the state directory. Each process needs one of its own.
	Dir string
	// FS is the file system of Dir. Defaults to the operating system's.
	FS vfs.FS
	// Instance is the stable name of this process among those of the application. It is a part of
	// its transactional ids and its static group membership: a restart under the same name takes
	// its partitions over at once. Defaults to the host name.
	Instance string
	// Endpoint is the address, host:port, at which others reach the HTTP server that your program
	// runs for questions about its partitions. The runtime does not listen there. It passes the
	// address on to the other processes, where Runtime.Owner and Members return it. Package program
	// sets it to the address of its API. Defaults to none.
	Endpoint string
	// Standbys is the number of other processes that keep the state of each partition warm. When an
	// owner dies, one of them continues with little to restore. The leader of the group uses its
	// own setting for all. Defaults to 0.
	Standbys int
	// StandbyHandlerBytes bounds the memory of the handlers of standbys, see
	// stream.Processor.WarmStandbys. A handler counts when it is made: one that has no room is
	// discarded, and its takeover makes another. Defaults to 256 MiB.
	StandbyHandlerBytes int64
	// Workers is the number of transactional sessions. While one waits for a commit or for a fetch,
	// the others fold. The processes of an application get equally many partitions, whatever their
	// numbers of workers are. Defaults to DefaultWorkers.
	Workers int
	// CommitInterval is the time between commits when the worker is caught up. Defaults to 100 ms.
	CommitInterval time.Duration
	// CommitIntervalMax is the longest interval, when the worker is behind. Defaults to 1 s. It may
	// be half of TransactionTimeout at most.
	CommitIntervalMax time.Duration
	// CommitRecords is the number of input records after which a transaction ends early. Defaults
	// to 2,000,000.
	CommitRecords int
	// CommitBytes is the size of the changes, over all workers, at which transactions end early.
	// Defaults to 32 MiB.
	CommitBytes int
	// PollRecords is the largest number of records of one poll. Defaults to 20,000.
	PollRecords int
	// Tick is the time between two calls of Flush without input. Defaults to 1 s.
	Tick time.Duration
	// PoisonLimit is the number of records in a row that may panic before the partition is stopped.
	// Defaults to 10.
	PoisonLimit int
	// UnreadableAfter is the time for which a batch is fetched again that cannot be decoded, before
	// the partition is stopped. Defaults to 30 s.
	UnreadableAfter time.Duration
	// SessionTimeout is the time after which the group removes a silent member. Defaults to 6 s,
	// the usual minimum of brokers.
	SessionTimeout time.Duration
	// TransactionTimeout is the time after which the brokers abort an open transaction. Defaults to
	// 10 s.
	TransactionTimeout time.Duration
	// StopTimeout bounds the commit of a stop, from the end of Run's context on. After it, the
	// worker abandons what is not committed, as a killed process does: the brokers abort the
	// transaction, and the next owner of the partitions folds its records again. A call of the
	// handler is not interrupted, and leaving the group may take three seconds more. Each commit is
	// bounded by three times TransactionTimeout in any case. Defaults to that.
	StopTimeout time.Duration
	// CacheBytes is the size of the store's block cache. Defaults to 64 MiB.
	CacheBytes int64
	// MemtableBytes bounds the store's memtables. Defaults to 96 MiB.
	MemtableBytes int64
	// BallastBytes is the size of a file in Dir that is removed when the disk is full, so that the
	// process can commit and exit; see ErrDiskFull. A negative size means no ballast. Defaults to
	// 64 MiB.
	BallastBytes int64
	// FetchBytes bounds the fetches of a worker, over all brokers, with at least 1 MiB for each
	// broker. The records need about ten times as much memory. Defaults to 8 MiB.
	FetchBytes int32
	// RemainInGroup keeps the static group membership when Run returns, for whatever reason except
	// a disk that fails. A restart within SessionTimeout moves no partition. Without a restart, the
	// other processes get the partitions after that time. Defaults to false: Run leaves the group,
	// and they get them at once.
	RemainInGroup bool
	// EndStopped makes Run return ErrAllStopped when all partitions of the process are stopped, see
	// Runtime.Run. It is for an application of one process, whose end is seen at once. With several
	// processes the stopped partitions move to the others and stop there, too, because the record
	// that stops them is in the topic. With each restart by a supervisor partitions move back,
	// healthy ones among them, until an operator corrects the cause: let the supervisor wait for
	// many minutes before a restart. Defaults to false: stopped partitions stay where they are.
	EndStopped bool
	// FormerChangelogs are the changelogs of applications whose state offline.Repartition moves to
	// this one. While one of them has records, no partition begins with an empty state: Run returns
	// ErrNotMoved if the own changelog has no records, and ErrPartlyMoved if a partition of it has
	// no state.
	FormerChangelogs []string
	// Topics are the topics of the application as they should be. Once the process is a member of
	// its group, it logs the topics whose cleanup policy or min.insync.replicas differs. Run
	// returns ErrTopics if Kafka deletes records of the changelog by age or size. Topics that the
	// application does not use are ignored. Defaults to none, and nothing is compared.
	Topics []stream.Topic
	// MinInsync is the min.insync.replicas that Topics should have. It is compared with at most the
	// number of brokers. Defaults to 0, and it is not compared.
	MinInsync int
	// AllowOldTransactions accepts brokers below transaction.version 2, where a transaction can be
	// torn (KIP-890).
	AllowOldTransactions bool
	// Pins give partitions to processes, as an operator decides. Defaults to none.
	Pins *Pins
	// Log receives the events of docs/log-events.md. Give it a level: at trace level, the Kafka
	// client logs each request. Defaults to none.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set. Its levels are read once, by New.
	Slog slog.Handler
	// Metrics receives the metrics of the runtime. Defaults to metrics that are not registered.
	Metrics *Metrics
	// Traces receives a span for each transaction, with a child for each step of its commit.
	// Defaults to none.
	Traces trace.TracerProvider

	// refreshLag is the number of input records that the local tables of a standby may lack.
	// Defaults to the constant refreshLag.
	refreshLag int64
	// former is a topic of FormerChangelogs that has records; empty if none has.
	former string
	// replay is the range of a replay. Run takes it from its context.
	replay *replayrange.Range
	// committed is whether this process has committed a transaction of the inputs. Run makes it.
	committed *atomic.Bool
	// failpoint is called at every failpoint of the commit cycle. An error ends the worker there,
	// as a crash would.
	failpoint func(w *worker, at string) error
}

// SetDefaults sets the fields that have defaults and are not set. New calls it.
func (c *Config) SetDefaults() {
	c.FS = cmp.Or(c.FS, vfs.Default)
	c.Instance = cmp.Or(c.Instance, instance.Default())
	c.StandbyHandlerBytes = cmp.Or(c.StandbyHandlerBytes, 256<<20)
	c.Workers = cmp.Or(c.Workers, DefaultWorkers())
	c.CommitInterval = cmp.Or(c.CommitInterval, 100*time.Millisecond)
	c.CommitIntervalMax = cmp.Or(c.CommitIntervalMax, time.Second)
	c.CommitRecords = cmp.Or(c.CommitRecords, 2_000_000)
	c.CommitBytes = cmp.Or(c.CommitBytes, 32<<20)
	c.PollRecords = cmp.Or(c.PollRecords, 20_000)
	c.Tick = cmp.Or(c.Tick, time.Second)
	c.PoisonLimit = cmp.Or(c.PoisonLimit, 10)
	c.UnreadableAfter = cmp.Or(c.UnreadableAfter, kafka.UnreadableAfter)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 6*time.Second)
	c.TransactionTimeout = cmp.Or(c.TransactionTimeout, 10*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 3*c.TransactionTimeout)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.MemtableBytes = cmp.Or(c.MemtableBytes, 96<<20)
	c.BallastBytes = cmp.Or(c.BallastBytes, 64<<20)
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.refreshLag = cmp.Or(c.refreshLag, refreshLag)
	if c.CommitIntervalMax < c.CommitInterval {
		c.CommitIntervalMax = c.CommitInterval
	}
	c.Log = slogger.Choose(c.Log, c.Slog)
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.failpoint == nil {
		c.failpoint = func(*worker, string) error { return nil }
	}
}

// maxHeartbeatInterval is Kafka's default. A member learns of a rebalance by its next heartbeat.
const maxHeartbeatInterval = 3 * time.Second

// heartbeatInterval returns the time between two heartbeats: a twelfth of the session timeout, so
// that lost heartbeats end no session, but short enough for fast rebalances under a long one.
func (c *Config) heartbeatInterval() time.Duration {
	return min(c.SessionTimeout/12, maxHeartbeatInterval)
}

// check returns ErrConfig for what New refuses.
func (c *Config) check() error {
	switch {
	case len(c.Kafka.Brokers) == 0:
		return fmt.Errorf("%w: Kafka.Brokers is empty: set the address of at least one broker", ErrConfig)
	case c.Dir == "":
		return fmt.Errorf("%w: Dir is empty: set the state directory", ErrConfig)
	case !stream.ValidName(c.Instance):
		return fmt.Errorf("%w: Instance %q is not a legal name: use letters, digits, '.', '_' or '-'", ErrConfig, c.Instance)
	case c.StopTimeout < 0:
		return fmt.Errorf("%w: StopTimeout %s is negative: set the longest time for the commit of a stop", ErrConfig, c.StopTimeout)
	case c.CommitIntervalMax*2 > c.TransactionTimeout:
		return fmt.Errorf("%w: CommitIntervalMax %s is more than half of TransactionTimeout %s: the brokers would abort a slow commit",
			ErrConfig, c.CommitIntervalMax, c.TransactionTimeout)
	}
	return nil
}

// database returns the options of the store.
func (c *Config) database() *store.Options {
	return &store.Options{
		FS: c.FS, Dir: c.Dir, Instance: c.Instance, Log: c.Log,
		CacheBytes: c.CacheBytes, MemtableBytes: c.MemtableBytes, BallastBytes: c.BallastBytes,
	}
}

// DefaultWorkers returns the number of workers of a Config that does not set one: the number of
// processors, and at least 4.
func DefaultWorkers() int { return max(4, runtime.GOMAXPROCS(0)) }
