package offline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// sortedStore collects the state of the target.
type sortedStore struct {
	*store.Offline
	options Repartitioning
	n       int32         // partitions
	batch   *pebble.Batch // rows that are not in the store yet
	keys    int64
	merged  int64
}

func newSortedStore(target *exclusiveMember, dir string, o Repartitioning) (*sortedStore, error) {
	state, err := store.CreateOffline(databaseOf(target.cfg), target.proc.App, dir)
	if err != nil {
		return nil, err
	}
	return &sortedStore{Offline: state, options: o, n: target.partitions, batch: state.DB.NewIndexedBatch()}, nil
}

func (s *sortedStore) close() error { return errors.Join(s.batch.Close(), s.Offline.Close()) }

func (s *sortedStore) flush() error {
	err := errors.Join(s.batch.Commit(pebble.NoSync), s.batch.Close())
	s.batch = s.DB.NewIndexedBatch()
	return err
}

// timerPrefixLen is the length of clock and time before the key of a timer.
const timerPrefixLen = 1 + 8

// place puts a key into the partition that Repartitioning.Partition returns.
func (s *sortedStore) place(table byte, key, value []byte) error {
	of := key
	if table == stream.TimerTable {
		of = key[timerPrefixLen:]
	}
	p, err := s.options.Partition(table, of, value)
	if err != nil {
		return fmt.Errorf("table %d, key %x: %w", table, key, err)
	}
	if p == NoPartition {
		return nil
	}
	return s.put(p, table, key, value)
}

// put is the PutFunc of Extract and Finish.
func (s *sortedStore) put(p int32, table byte, key, value []byte) error {
	if p < 0 || p >= s.n || table < stream.FirstTable || table >= stream.FirstLocalTable {
		return fmt.Errorf("table %d, key %x: cannot be put into partition %d of %d: only logged tables move", table, key, p, s.n)
	}
	at := store.Key(p, table, key)
	other, err := store.Get(s.batch, at)
	if err != nil {
		return err
	}
	if s.keys++; other != nil {
		if s.options.Merge == nil {
			return fmt.Errorf("table %d, key %x: two source partitions have it, and Repartitioning.Merge is nil", table, key)
		}
		if value, err = s.options.Merge(table, key, other, slices.Clone(value)); err != nil {
			return fmt.Errorf("merge table %d, key %x: %w", table, key, err)
		}
		s.keys, s.merged = s.keys-1, s.merged+1
	}
	if err := s.batch.Set(at, value, nil); err != nil || s.batch.Len() < changelog.MaxBatchBytes {
		return err
	}
	return s.flush()
}

// checkComplete returns ErrPartlyMoved if the state of an application is a part of what a
// repartition has to write.
func checkComplete(app string, metas map[int32]*changelogpb.TaskMeta) error {
	for p, meta := range metas {
		if meta.Marker.GetMove() == changelogpb.Move_MOVE_INCOMPLETE {
			return fmt.Errorf("%w: partition %d of %s has a part of its state", processors.ErrPartlyMoved, p, app)
		}
	}
	return nil
}

// checkSource returns ErrPartlyMoved if an earlier repartition, to the source of this one, is not
// complete, or was not begun, and ErrMovedAway if the state is in another application than the
// target.
func (r *repartition) checkSource(ctx context.Context) error {
	metas, err := r.sourceStore.Metas(ctx)
	if err == nil {
		err = errors.Join(checkComplete(r.source.proc.App, metas), r.checkAway(metas))
	}
	if err != nil || len(metas) == int(r.source.partitions) {
		return err
	}
	former, err := changelog.FirstUsed(ctx, r.source.adm, r.source.cfg.FormerChangelogs...)
	if err == nil && former != "" {
		err = fmt.Errorf("%w: %s has state in %d of %d partitions, and %s has records", processors.ErrPartlyMoved, r.source.proc.App,
			len(metas), r.source.partitions, former)
	}
	return err
}

// checkAway returns ErrMovedAway if the state of the source was moved to another application than
// the target.
func (r *repartition) checkAway(metas map[int32]*changelogpb.TaskMeta) error {
	for _, meta := range metas {
		if to := meta.Marker.GetMovedTo(); to != "" && to != r.target.proc.App {
			return fmt.Errorf("%w: the state of %s to %s", processors.ErrMovedAway, r.source.proc.App, to)
		}
	}
	return nil
}

// checkTarget finds the markers of the target partitions that an earlier attempt has written. It
// returns ErrNotEmpty for any other state.
func (r *repartition) checkTarget(ctx context.Context) error {
	metas, err := r.targetStore.Metas(ctx)
	r.earlier = map[int32]*changelogpb.Marker{}
	for p, meta := range metas {
		if m := meta.Marker; m.GetMovedTo() != "" {
			return fmt.Errorf("%w: the state of %s was moved on to %s", ErrNotEmpty, r.target.proc.Changelog, m.GetMovedTo())
		} else if m.GetMove() == changelogpb.Move_MOVE_UNSPECIFIED {
			return fmt.Errorf("%w: partition %d of %s has transaction %d, so the application has run: choose topics without state",
				ErrNotEmpty, p, r.target.proc.Changelog, m.Sequence)
		} else if m.GetMovedFrom() != r.source.proc.App {
			return fmt.Errorf("%w: partition %d of %s has state of %s from another repartition: choose topics without state", ErrNotEmpty,
				p, r.target.proc.Changelog, m.GetMovedFrom())
		}
		r.earlier[p] = meta.Marker
	}
	return err
}

// write writes the sorted state to the changelog of the target, and leaves out the partitions that
// have it from an earlier attempt. Before the first one, it marks all partitions as incomplete: the
// earlier attempt may have been complete. Readers of the changelog see ordinary updates.
func (r *repartition) write(ctx context.Context) error {
	next, err := inputStarts(ctx, r.target)
	if err != nil {
		return err
	}
	r.out.Keys, r.out.Merged = r.sorted.keys, r.sorted.merged
	r.markers = map[int32]*changelogpb.Marker{}
	for p := range r.target.partitions {
		m := r.target.newMarker(nil, next.Partition(p))
		m.Incarnation, m.OwnerEpoch, m.WatermarkMs = r.position.incarnation, r.position.epoch+1, r.position.watermarkMs
		m.Sequence, m.MovedFrom = r.earlier[p].GetSequence(), r.source.proc.App
		r.markers[p] = m
	}
	for p := range r.target.partitions {
		is := r.targetRecords(p, r.markers[p])
		if r.earlier[p] != nil {
			same, err := sameRecords(is, r.targetStore.Records(p))
			if err != nil {
				return err
			}
			if same {
				continue
			}
		}
		if r.out.Written == 0 {
			if err := r.mark(ctx, changelogpb.Move_MOVE_INCOMPLETE); err != nil {
				return err
			}
		}
		r.markers[p].Sequence++
		if err := r.target.write(ctx, p, r.markers[p], r.replaceRecords(p, is)); err != nil {
			return err
		}
		r.out.Written++
	}
	return nil
}

// markMovedAway states in the markers of the source that its state is in the target, unless an
// earlier attempt has done so. The source cannot start from here on. The target cannot start yet:
// no two states count on.
func (r *repartition) markMovedAway(ctx context.Context) error {
	starts, err := inputStarts(ctx, r.source)
	if err != nil {
		return err
	}
	markers := map[int32]*changelogpb.Marker{}
	for p := range r.source.partitions {
		last := r.position.last[p]
		switch {
		case last == nil:
			markers[p] = r.source.newMarker(nil, starts.Partition(p))
			markers[p].Incarnation = r.position.incarnation
		case last.GetMovedTo() == "":
			markers[p] = nextMarker(last)
		default:
			continue
		}
		markers[p].MovedTo = r.target.proc.App
	}
	return r.source.confirmMarkers(ctx, markers)
}

// undo withdraws the statements of a move: first that the target is complete, then that the source
// was moved. It returns ErrNothingToUndo if neither is stated, nor was withdrawn by an earlier
// call.
func (r *repartition) undo(ctx context.Context) error {
	metas, err := r.sourceStore.Metas(ctx)
	if err != nil {
		return err
	}
	if err := r.checkAway(metas); err != nil {
		return err
	}
	incomplete, notMoved := map[int32]*changelogpb.Marker{}, map[int32]*changelogpb.Marker{}
	for p, last := range r.earlier {
		incomplete[p] = nextMarker(last)
		incomplete[p].Move = changelogpb.Move_MOVE_INCOMPLETE
	}
	for p, meta := range metas {
		if meta.Marker.GetMovedTo() != "" {
			notMoved[p] = nextMarker(meta.Marker)
			notMoved[p].MovedTo = ""
		}
	}
	if len(incomplete) == 0 && len(notMoved) == 0 {
		return ErrNothingToUndo
	}
	if err := r.target.confirmMarkers(ctx, incomplete); err != nil {
		return err
	}
	return r.source.writeMarkers(ctx, notMoved)
}

// nextMarker returns the marker of a transaction that changes nothing but the marker.
func nextMarker(last *changelogpb.Marker) *changelogpb.Marker {
	m := proto.CloneOf(last)
	m.Sequence++
	m.WrittenAtMs = time.Now().UnixMilli()
	return m
}

// complete marks all partitions as complete, unless an earlier attempt has done so for the same
// state.
func (r *repartition) complete(ctx context.Context) error {
	stated := r.out.Written == 0
	for p, m := range r.markers {
		want := proto.CloneOf(m)
		want.Move = changelogpb.Move_MOVE_COMPLETE
		want.WrittenAtMs = r.earlier[p].GetWrittenAtMs() // in this field two attempts always differ
		stated = stated && proto.Equal(r.earlier[p], want)
	}
	if stated {
		return nil
	}
	return r.mark(ctx, changelogpb.Move_MOVE_COMPLETE)
}

// mark states in the next marker of every partition, in one transaction, whether the state is
// complete.
func (r *repartition) mark(ctx context.Context, move changelogpb.Move) error {
	for _, m := range r.markers {
		m.Sequence++
		m.Move = move
	}
	return r.target.writeMarkers(ctx, r.markers)
}

// targetRecords returns the records of target partition p. All attempts for one state of the source
// return the same: as those of transaction 1 of the owner epoch of m.
func (r *repartition) targetRecords(p int32, m *changelogpb.Marker) store.RecordSource {
	c := stream.Commit{
		NowMs: m.WrittenAtMs, Incarnation: m.Incarnation, OwnerEpoch: m.OwnerEpoch, Sequence: 1, Next: changelogpb.NextOffsets(m.Inputs),
	}
	return func(send func(key, value []byte) error) error {
		return r.sorted.Records(p)(func(key, value []byte) error {
			value, err := r.options.Rewrite.apply(key, value, c)
			if err != nil {
				return err
			}
			return send(key, value)
		})
	}
}

// replaceRecords returns the records of the new state, and deletions of the keys of an earlier
// attempt that the new state does not have.
func (r *repartition) replaceRecords(p int32, is store.RecordSource) store.RecordSource {
	return func(send func(key, value []byte) error) error {
		err := r.targetStore.Records(p)(func(key, _ []byte) error {
			value, err := store.Get(r.sorted.DB, store.Key(p, key[0], key[1:]))
			if err != nil || value != nil {
				return err
			}
			return send(key, nil)
		})
		if err != nil {
			return err
		}
		return is(send)
	}
}

// sameRecords reports whether two sources have the same records.
func sameRecords(one, other store.RecordSource) (bool, error) {
	var sums [2]store.Digest
	for i, f := range []store.RecordSource{one, other} {
		h := store.TableHasher{Hash: sha256.New()}
		if err := f(func(key, value []byte) error { h.Add(key, value); return nil }); err != nil {
			return false, err
		}
		h.Hash.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}
