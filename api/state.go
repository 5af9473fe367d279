package api

import (
	"context"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/stream"
)

// StateSource reads the committed state of the partitions of this process. Its methods are called
// concurrently.
//
// For a partition that is not in this process, or not readable now, a method returns a
// *PartitionsError with one Gap. The owner of a partition reads it. A standby reads it too if the
// query has a MaxStaleness and the state is not older than that.
type StateSource interface {
	// Info describes the application. It is constant once the application has started: Partitions
	// may be 0 before.
	Info() StateInfo
	// Page reads a range of one table of one partition from one snapshot.
	Page(ctx context.Context, q PageQuery) (*Page, error)
	// Spends calls fn with the campaign days that q selects, of one snapshot. Those of an account
	// come in the order of their keys: campaign, day, currency. An error of fn ends the call and is
	// returned, except stream.ErrStopScan.
	Spends(ctx context.Context, q SpendScan, fn SpendFunc) (*weirpb.AsOf, error)
	// WatchSpend reports commits that change the campaign days of a campaign, by a value in changed
	// after Spends returns the change. Several commits may be one value, and a value may come
	// without a change. changed is closed when this process can report no more: the next WatchSpend
	// has the reason, if it lasts. The caller calls stop in the end.
	WatchSpend(q SpendWatch) (changed <-chan struct{}, stop func(), err error)
	// Hash returns checksums of the tables of a partition that the changelog has. The caller fills
	// in the names of the tables.
	Hash(ctx context.Context, partition int32, maxStaleness time.Duration) (*weirpb.PartitionHash, error)
}

// StateInfo describes an application and its tables.
type StateInfo struct {
	App        string
	Instance   string // name of this process
	Partitions int32  // 0: not known yet
	Tables     []stream.TableInfo
}

// PageQuery is a range of keys in a table of a partition.
type PageQuery struct {
	Partition int32
	Table     byte
	From, To  []byte // To is the first key after the range; nil: the end of the table
	// Limit is the maximum number of keys of the page, MaxPageBytes the maximum of bytes. If a page
	// ends by either, More is set. A page has at least one key if the range has one.
	Limit        int
	MaxStaleness time.Duration // of a standby; 0: only the owner
}

// Page is the result of a PageQuery.
type Page struct {
	Entries []Entry // in order
	More    bool    // the range has keys after the last entry
	AsOf    *weirpb.AsOf
}

// Entry is a key and its value.
type Entry struct{ Key, Value []byte }

// Bounds of a page.
const (
	MaxPageKeys  = 10_000
	MaxPageBytes = 4 << 20 // of keys and values; one entry alone may be larger
)

// PeerSource lists the processes that share the partitions. One goroutine calls it at a time.
type PeerSource interface {
	Peers(ctx context.Context) ([]Peer, error)
}

// Peer is a process that shares the partitions of the application.
type Peer struct {
	Instance   string
	Endpoint   string  // host:port of its data listener; empty: other processes cannot reach it
	Partitions []int32 // that it owns
	Standbys   []int32 // that it keeps warm
}
