package follower

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/instance"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Topic is a topic to follow.
type Topic struct {
	// Name is the topic's name.
	Name string
	// Changelog is whether the topic is the changelog of a processor: the runtime's own records are
	// skipped, and the key of a row is one byte of table, then the state key. Defaults to a plain
	// topic.
	Changelog bool
}

// FS is a file system: package vfs of Pebble has that of the operating system, and one in memory.
type FS = vfs.FS

// Config is the configuration of a Follower. Kafka, Dir, Name and Topics must be set. The zero
// value of every other field works.
type Config struct {
	// Kafka is the cluster that has the topics. Followers of one process may have different ones.
	Kafka kafka.Cluster
	// Dir is the state directory. The store is in its subdirectory Name.
	Dir string
	// Name is the name of the follower. Two followers in one Dir need different names.
	Name string
	// Topics are the topics to follow. The rows of a topic that is removed from the list are
	// deleted.
	Topics []Topic
	// OnOpen gets the rows that the store has, before the first OnChange. It is called again after
	// a damaged store was replaced by an empty one. The snapshot is closed when OnOpen returns. An
	// error ends Run. Defaults to none.
	OnOpen func(*Snapshot) error
	// OnChange gets each change before it is written: Get returns the former row. It is called by
	// one goroutine, which reads nothing in the meantime. An error ends Run; the change is reported
	// again by the next Run. Defaults to none, which saves a read per record.
	OnChange func(Change) error
	// FS is the file system of Dir. Defaults to the operating system's.
	FS vfs.FS
	// Instance names the process in the error of another process that needs the same store.
	// Defaults to the host name.
	Instance string
	// CacheBytes is the size of the store's block cache. Defaults to 64 MiB.
	CacheBytes int64
	// MemtableBytes bounds the store's memtables, and the memory of loads. Defaults to 96 MiB.
	MemtableBytes int64
	// FetchBytes bounds two fetches: the one that is applied, and the next. The records need about
	// ten times as much memory. Defaults to 8 MiB.
	FetchBytes int32
	// Log receives the events of docs/log-events.md. Defaults to none.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set.
	Slog slog.Handler

	// failpoint is called where a test may end the process. An error ends Run there.
	failpoint func(at string) error
}

// Errors to branch on. The texts that wrap them state the cause and the remedy.
var (
	// ErrConfig means that the Config is wrong.
	ErrConfig = errors.New("invalid configuration of a follower")
	// ErrNotRunning means that Run is not at work, or has not opened the store yet.
	ErrNotRunning = errors.New("the follower is not running")
	// ErrLoading means that the partition has not been read to its end yet, or does not exist.
	ErrLoading = errors.New("the partition is not loaded yet")
	// ErrLocked means that another process uses the store.
	ErrLocked = store.ErrLocked
	// ErrNewer means that a newer version wrote the store.
	ErrNewer = store.ErrNewer
	// ErrDiskFull means that the disk of the state directory has no space left.
	ErrDiskFull = store.ErrDiskFull
	// ErrDisk means that the disk of the state directory refuses writes.
	ErrDisk = store.ErrDisk
)

// setDefaults sets defaults and returns an error for an invalid field: ErrConfig.
func (c *Config) setDefaults() error {
	c.FS = cmp.Or(c.FS, vfs.Default)
	c.Instance = cmp.Or(c.Instance, instance.Default())
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.MemtableBytes = cmp.Or(c.MemtableBytes, 96<<20)
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.Log = slogger.Choose(c.Log, c.Slog)
	if c.OnOpen == nil {
		c.OnOpen = func(*Snapshot) error { return nil }
	}
	if c.failpoint == nil {
		c.failpoint = func(string) error { return nil }
	}
	return c.check()
}

func (c *Config) check() error {
	switch {
	case len(c.Kafka.Brokers) == 0 && len(c.Kafka.Options) == 0:
		return fmt.Errorf("%w: Kafka.Brokers is empty: set the address of at least one broker", ErrConfig)
	case c.Dir == "":
		return fmt.Errorf("%w: Dir is empty: set the state directory", ErrConfig)
	case !stream.ValidName(c.Name):
		return fmt.Errorf("%w: Name %q is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-'", ErrConfig, c.Name)
	case len(c.Topics) == 0:
		return fmt.Errorf("%w: Topics is empty: name at least one topic", ErrConfig)
	}
	seen := map[string]bool{}
	for _, t := range c.Topics {
		switch {
		case !stream.ValidName(t.Name):
			return fmt.Errorf("%w: %q is not a legal topic name: use 1 to 200 letters, digits, '.', '_' or '-'", ErrConfig, t.Name)
		case seen[t.Name]:
			return fmt.Errorf("%w: topic %s is listed twice: remove one", ErrConfig, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

func (c *Config) database() *store.Options {
	return &store.Options{FS: c.FS, Dir: c.Dir, Instance: c.Instance, Log: c.Log, CacheBytes: c.CacheBytes, MemtableBytes: c.MemtableBytes}
}
