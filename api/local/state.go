package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// StateReader implements api.StateSource with the store of a runtime of this process.
type StateReader struct {
	runtime *processors.Runtime
	tables  []stream.TableInfo
	check   StateCheck
	hashing chan struct{} // one hash at a time, because it reads a whole partition
}

// StateCheck returns an error if the state of a partition is not as this version of the program
// reads it. A *api.PartitionsError reports the partition as a gap.
type StateCheck func(snap *processors.Snapshot, partition int32) error

// NewStateReader returns a reader of the state of rt. The tables are those that the processor
// describes, and its timers. A nil check accepts all states.
func NewStateReader(rt *processors.Runtime, check StateCheck) *StateReader {
	if check == nil {
		check = func(*processors.Snapshot, int32) error { return nil }
	}
	tables := append(slices.Clone(rt.Processor().Tables), processors.TimerTable())
	return &StateReader{runtime: rt, check: check, hashing: make(chan struct{}, 1), tables: tables}
}

// Info implements api.StateSource.
func (s *StateReader) Info() api.StateInfo {
	n := s.runtime.Processor().Partitions
	if n == 0 { // the number of the first input, which the runtime learns when it starts
		n = s.runtime.Partitions()
	}
	return api.StateInfo{App: s.runtime.App(), Instance: s.runtime.Instance(), Partitions: n, Tables: s.tables}
}

// Page implements api.StateSource.
func (s *StateReader) Page(ctx context.Context, q api.PageQuery) (_ *api.Page, err error) {
	snap, asOf, err := s.open(q.Partition, q.MaxStaleness)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	page := &api.Page{AsOf: asOf}
	full := errors.New("the page is full")
	size := 0
	err = snap.Range(processors.KeyRange{Partition: q.Partition, Table: q.Table, From: q.From, To: q.To}, func(key, value []byte) error {
		if len(page.Entries) >= q.Limit || size >= api.MaxPageBytes {
			page.More = true
			return full
		}
		size += len(key) + len(value)
		page.Entries = append(page.Entries, api.Entry{Key: bytes.Clone(key), Value: bytes.Clone(value)})
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, full) {
		return nil, fmt.Errorf("table %d of partition %d: %w", q.Table, q.Partition, err)
	}
	return page, nil
}

// Hash implements api.StateSource.
func (s *StateReader) Hash(ctx context.Context, partition int32, maxStaleness time.Duration) (_ *weirpb.PartitionHash, err error) {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	snap, asOf, err := s.open(partition, maxStaleness)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	sums, err := snap.Hash(partition)
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", partition, err)
	}
	out := &weirpb.PartitionHash{AsOf: asOf}
	for _, table := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[table]
		out.Tables = append(out.Tables, &weirpb.TableHash{Table: uint32(table), Keys: sum.Keys, Bytes: sum.Bytes, Hash: sum.Hash[:]})
	}
	return out, nil
}

// open takes a snapshot if the partition can be read from it. The caller closes it.
func (s *StateReader) open(p int32, maxStaleness time.Duration) (*processors.Snapshot, *weirpb.AsOf, error) {
	status, err := s.readable(p, maxStaleness)
	if err != nil {
		return nil, nil, err
	}
	snap, err := s.runtime.Snapshot()
	if errors.Is(err, processors.ErrNotRunning) {
		return nil, nil, gap(p, api.StateRemote, err.Error())
	}
	if err != nil {
		return nil, nil, err
	}
	asOf, err := s.asOf(snap, status, maxStaleness)
	if err == nil {
		err = s.check(snap, p)
	}
	if err != nil {
		return nil, nil, errors.Join(err, snap.Close())
	}
	return snap, asOf, nil
}

// readable returns the status of the partition in this process, or why it cannot be read.
func (s *StateReader) readable(p int32, maxStaleness time.Duration) (processors.Status, error) {
	for _, st := range s.runtime.Status() {
		switch {
		case st.Partition != p:
		case st.State == api.StateStandby && (maxStaleness == 0 || st.Reason != ""):
			return st, gap(p, st.State, st.Reason)
		case st.State != api.StateStandby && (st.OwnerEpoch == 0 || st.State == "restoring"):
			return st, gap(p, st.State, st.Reason)
		default:
			return st, nil
		}
	}
	return processors.Status{}, gap(p, api.StateRemote, "")
}

// asOf describes what the snapshot includes of a partition. It returns an error for a standby that
// is too stale.
func (s *StateReader) asOf(snap *processors.Snapshot, st processors.Status, maxStaleness time.Duration) (*weirpb.AsOf, error) {
	meta, err := snap.Meta(st.Partition)
	if err != nil {
		return nil, err
	}
	by := &weirpb.ServedBy{Instance: s.runtime.Instance(), Role: "owner"}
	if st.State == "stopped" {
		by.Stopped = st.Reason
	}
	if st.State == api.StateStandby {
		if meta.GetMarker() == nil {
			return nil, gap(st.Partition, st.State, "it has no state yet")
		}
		// The snapshot has everything that was committed before its last marker was written, and
		// nothing that was committed later.
		by.Role, by.StalenessMs = api.StateStandby, max(0, time.Now().UnixMilli()-meta.GetMarker().GetWrittenAtMs())
		if by.StalenessMs > maxStaleness.Milliseconds() {
			return nil, gap(st.Partition, st.State,
				fmt.Sprintf("its state is %d ms old, and the request allows %d ms", by.StalenessMs, maxStaleness.Milliseconds()))
		}
	}
	out := &weirpb.AsOf{
		Partition: st.Partition, AppliedMs: meta.GetAppliedAtMs(), NextOffsets: map[string]int64{},
		ChangelogNext: meta.GetChangelogNext(), OwnerEpoch: meta.GetMarker().GetOwnerEpoch(), ServedBy: by,
	}
	for _, in := range meta.GetMarker().GetInputs() {
		out.NextOffsets[in.Topic] = in.Next
	}
	return out, nil
}

func gap(p int32, state, reason string) error {
	return &api.PartitionsError{Gaps: []api.PartitionGap{{Partition: p, State: state, Reason: reason}}}
}

var _ api.StateSource = (*StateReader)(nil)
