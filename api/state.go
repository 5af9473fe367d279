package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
)

// StateSource reads the committed state of the partitions that this process has. Its methods are called concurrently.
//
// A partition that is not here, or not readable now, is a *PartitionsError with the one Gap. The owner of a partition
// reads it; a standby too if the question has a MaxStaleness and the state is no older than that.
type StateSource interface {
	// Info says what there is. It is the same during the life of the process.
	Info() StateInfo
	// Page reads a range of one table of one partition as of one moment.
	Page(ctx context.Context, q PageQuery) (*Page, error)
	// Hash sums up the tables of a partition that its changelog has. The tables' names are left to the caller.
	Hash(ctx context.Context, partition int32, maxStaleness time.Duration) (*weirpb.PartitionHash, error)
}

// StateInfo says what an application keeps.
type StateInfo struct {
	App        string
	Instance   string // name of this process
	Partitions int32
	Tables     []Table // those with a name
}

// Table is a table of an application that has a name.
type Table struct {
	Number byte
	Name   string
	// Message makes an empty message of what the values are. Nil: bytes of another kind.
	Message func() proto.Message
	// Partition tells where a key is. Nil: its keys do not tell.
	Partition func(key []byte) (int32, bool)
}

// PageQuery is a range of keys in a table of a partition.
type PageQuery struct {
	Partition int32
	Table     byte
	From, To  []byte // To is the first key after the range; nil: the end of the table
	// Limit of the page in keys, and MaxPageBytes in bytes: then it has More. At least one key is in it if there is one.
	Limit        int
	MaxStaleness time.Duration // of a standby; 0: only the owner
}

// Page is what a PageQuery found.
type Page struct {
	Entries []Entry // in order
	More    bool    // the range has keys after the last entry
	AsOf    *weirpb.AsOf
}

// Entry is a key and its value.
type Entry struct{ Key, Value []byte }

// What a page holds at most.
const (
	MaxPageKeys  = 10_000
	MaxPageBytes = 4 << 20 // of keys and values; one entry alone may be more
)

// PeerSource tells which processes share the partitions. It is called by one goroutine at a time.
type PeerSource interface {
	Peers(ctx context.Context) ([]Peer, error)
}

// Peer is a process that shares the partitions of the application.
type Peer struct {
	Instance   string
	Endpoint   string  // host:port of its data listener; empty: it has none that others reach
	Partitions []int32 // that it owns
	Standbys   []int32 // that it keeps warm
}
