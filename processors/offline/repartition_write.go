package offline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// sortedStore is the target's state in the making.
type sortedStore struct {
	*store.Offline
	options Repartitioning
	n       int32         // partitions
	batch   *pebble.Batch // what is not in the picture yet
	keys    int64
	merged  int64
}

func newSortedStore(target *exclusiveMember, dir string, how Repartitioning) (*sortedStore, error) {
	pic, err := store.CreateOffline(databaseOf(target.cfg), target.proc.App, dir)
	if err != nil {
		return nil, err
	}
	return &sortedStore{Offline: pic, options: how, n: target.partitions, batch: pic.DB.NewIndexedBatch()}, nil
}

func (s *sortedStore) close() error { return errors.Join(s.batch.Close(), s.Offline.Close()) }

func (s *sortedStore) flush() error {
	err := errors.Join(s.batch.Commit(pebble.NoSync), s.batch.Close())
	s.batch = s.DB.NewIndexedBatch()
	return err
}

// timerPrefixLen precedes a timer's own key: its clock and its time.
const timerPrefixLen = 1 + 8

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

// put is the Put of Take and Rest.
func (s *sortedStore) put(p int32, table byte, key, value []byte) error {
	if p < 0 || p >= s.n || table < stream.FirstTable || table >= stream.FirstLocalTable {
		return fmt.Errorf("table %d, key %x: it is placed in partition %d of %d; only logged tables are placed", table, key, p, s.n)
	}
	at := store.Key(p, table, key)
	other, err := store.Get(s.batch, at)
	if err != nil {
		return err
	}
	if s.keys++; other != nil {
		if s.options.Merge == nil {
			return fmt.Errorf("table %d, key %x: two partitions have it, and there is no way given to merge them", table, key)
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

// checkTarget says which partitions of the target an earlier try has written. Any other state there is somebody's.
func (r *repartition) checkTarget(ctx context.Context) (done map[int32]*changelogpb.Marker, err error) {
	metas, err := r.targetStore.Metas(ctx)
	done = map[int32]*changelogpb.Marker{}
	for p, meta := range metas {
		if m := meta.Marker; !m.Rewritten || m.Sequence != 1 {
			return nil, fmt.Errorf("%w: partition %d of %s has transaction %d: it ran already", ErrNotEmpty, p, r.target.proc.Changelog, m.Sequence)
		}
		done[p] = meta.Marker
	}
	return done, err
}

// write makes the target's changelog what was sorted. A partition that an earlier try wrote is its first transaction, written
// again: nobody has seen it but readers of the changelog, who see ordinary updates.
func (r *repartition) write(ctx context.Context, done map[int32]*changelogpb.Marker) error {
	next, err := inputStarts(ctx, r.target)
	if err != nil {
		return err
	}
	r.out.Keys, r.out.Merged = r.sorted.keys, r.sorted.merged
	for p := range r.target.partitions {
		m := r.target.newMarker(nil, next.Partition(p))
		m.OwnerEpoch, m.WatermarkMs = r.position.epoch+1, r.position.watermarkMs
		is := r.targetRecords(p, m)
		if done[p] != nil && done[p].OwnerEpoch == m.OwnerEpoch && maps.Equal(changelogpb.NextOffsets(done[p].Inputs), changelogpb.NextOffsets(m.Inputs)) {
			same, err := sameRecords(is, r.targetStore.Records(p))
			if err != nil {
				return err
			}
			if same {
				continue
			}
		}
		if err := r.target.write(ctx, p, m, r.replaceRecords(p, is)); err != nil {
			return err
		}
		r.out.Written++
	}
	return nil
}

// targetRecords is what partition p of the target is to have, as written with m.
func (r *repartition) targetRecords(p int32, m *changelogpb.Marker) store.RecordSource {
	c := stream.Commit{NowMs: m.WrittenAtMs, OwnerEpoch: m.OwnerEpoch, Sequence: m.Sequence, Next: changelogpb.NextOffsets(m.Inputs)}
	return func(send func(key, value []byte) error) error {
		return r.sorted.Records(p)(func(key, value []byte) error {
			value, err := rewrite(r.target.proc, key, value, c)
			if err != nil {
				return err
			}
			return send(key, value)
		})
	}
}

// replaceRecords is the state, and the deletion of what an earlier try wrote and that is not in it.
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

// sameRecords says whether both hand over the same.
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
