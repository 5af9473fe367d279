package processors

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
)

// NotOwnedError reports a question about a partition that another process has, or none. It wraps
// ErrNotOwned.
type NotOwnedError struct {
	App   string
	Owner Owner // its Instance is empty if no process has the partition at the moment
}

func (e *NotOwnedError) Error() string {
	switch o := e.Owner; {
	case o.Instance == "":
		return fmt.Sprintf("no process has partition %d of %s at the moment: ask again after a pause", o.Partition, e.App)
	case o.Endpoint == "":
		return fmt.Sprintf("partition %d of %s is in process %s, which has no address: set its Config.Endpoint", o.Partition, e.App,
			o.Instance)
	default:
		return fmt.Sprintf("partition %d of %s is in process %s: ask it at %s", o.Partition, e.App, o.Instance, o.Endpoint)
	}
}

// Unwrap returns ErrNotOwned.
func (e *NotOwnedError) Unwrap() error { return ErrNotOwned }

// PartitionState is the committed state of one partition in a Snapshot. It is a state.Reader and a
// state.Ranger, so that state.Table reads it. Its methods return an error of Ask unless this
// process ran the partition when the snapshot was taken: no state is never shown as an empty one.
type PartitionState struct {
	snap      *Snapshot
	partition int32
	err       error
}

// Partition returns the state of a partition.
func (s *Snapshot) Partition(partition int32) PartitionState {
	out := PartitionState{snap: s, partition: partition}
	if partition < 0 || int(partition) >= len(s.running) || !s.running[partition] {
		out.err = s.runtime.whyNot(partition)
	}
	return out
}

// Get returns the value of key in table, which belongs to the caller; nil if key has no value.
func (s PartitionState) Get(table byte, key []byte) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.snap.Get(s.partition, table, key)
}

// Range calls fn for each key of table from from up to, not including, to, in order, until fn
// returns an error, which it returns. A nil to is the end of the table. Key and value are valid
// during the call only.
func (s PartitionState) Range(table byte, from, to []byte, fn func(key, value []byte) error) error {
	if s.err != nil || to != nil && bytes.Compare(from, to) >= 0 {
		return s.err
	}
	return s.snap.Range(KeyRange{Partition: s.partition, Table: table, From: from, To: to}, fn)
}

// Read calls fn with the committed state of the partition of a key, from any goroutine; see Owner
// for the partition of a key. The state is valid during the call only. Run does not return while fn
// runs, so fn must be short: send what it has read afterwards.
//
// The state is what this process has committed last. While a worker is behind, a transaction shows
// about two seconds late, or at the end of the commit that is in progress then. Reads are not
// linearizable: a process that is cut off from the brokers continues to answer with what it has,
// while another process may run the partition and be ahead. BrokerIdle reports that. To question
// the handler and know that its answer has committed, use AskCommitted.
//
// Read returns the error of fn as it is. If fn was not called, the error is one of:
//
//	*NotOwnedError  another process has the partition: its Owner names the process and its address
//	ErrRestoring    the partition is being taken over: ask again after a pause
//	ErrStopped      the partition is stopped until an operator acts. Snapshot.Get reads its state
//	ErrNoPartition  the processor has no such partition
//	ErrNotRunning   Run is not at work
//
// or an error of the brokers, if they do not name the owner.
func (r *Runtime) Read(ctx context.Context, key []byte, fn func(s PartitionState) error) error {
	return r.ReadPartition(ctx, r.partitionOf(key), fn)
}

// ReadPartition is Read for a partition.
func (r *Runtime) ReadPartition(ctx context.Context, partition int32, fn func(s PartitionState) error) (err error) {
	snap, err := r.Snapshot()
	if err != nil {
		return err
	}
	state := snap.Partition(partition)
	if state.err == nil {
		defer func() { err = cmp.Or(err, snap.Close()) }()
		return fn(state)
	}
	if err := cmp.Or(snap.Close(), state.err); !errors.Is(err, ErrNotOwned) {
		return err
	}
	return r.notOwned(ctx, partition)
}

// notOwned returns the error of a question about a partition that does not run here.
func (r *Runtime) notOwned(ctx context.Context, partition int32) error {
	owner, err := r.OwnerOf(ctx, partition)
	switch {
	case err != nil:
		return err
	case owner.Self:
		return fmt.Errorf("%w: partition %d of %s was just assigned to this process: ask again after a pause", ErrRestoring, partition,
			r.proc.App)
	}
	return &NotOwnedError{r.proc.App, owner}
}
