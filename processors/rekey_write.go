package processors

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// sorting is the target's state in the making.
type sorting struct {
	*picture
	how    Rekeying
	n      int32         // partitions
	batch  *pebble.Batch // what is not in the picture yet
	keys   int64
	merged int64
}

func newSorted(target *holder, dir string, how Rekeying) (*sorting, error) {
	pic, err := newPicture(databaseOf(target.cfg), target.proc.App, dir)
	if err != nil {
		return nil, err
	}
	return &sorting{picture: pic, how: how, n: target.n, batch: pic.db.NewIndexedBatch()}, nil
}

func (s *sorting) close() error { return errors.Join(s.batch.Close(), s.picture.close()) }

func (s *sorting) flush() error {
	err := errors.Join(s.batch.Commit(pebble.NoSync), s.batch.Close())
	s.batch = s.db.NewIndexedBatch()
	return err
}

// timerHead precedes a timer's own key: its clock and its time.
const timerHead = 1 + 8

func (s *sorting) place(table byte, key, value []byte) error {
	of := key
	if table == stream.TimerTable {
		of = key[timerHead:]
	}
	p, err := s.how.Place(table, of, value)
	if err != nil {
		return fmt.Errorf("table %d, key %x: %w", table, key, err)
	}
	if p == Nowhere {
		return nil
	}
	return s.put(p, table, key, value)
}

// put is the Put of Take and Rest.
func (s *sorting) put(p int32, table byte, key, value []byte) error {
	if p < 0 || p >= s.n || table < stream.FirstTable || table >= stream.FirstLocalTable {
		return fmt.Errorf("table %d, key %x: it is placed in partition %d of %d; only logged tables are placed", table, key, p, s.n)
	}
	at := storeKey(p, table, key)
	other, err := get(s.batch, at)
	if err != nil {
		return err
	}
	if s.keys++; other != nil {
		if s.how.Merge == nil {
			return fmt.Errorf("table %d, key %x: two partitions have it, and there is no way given to merge them", table, key)
		}
		if value, err = s.how.Merge(table, key, other, slices.Clone(value)); err != nil {
			return fmt.Errorf("merge table %d, key %x: %w", table, key, err)
		}
		s.keys, s.merged = s.keys-1, s.merged+1
	}
	if err := s.batch.Set(at, value, nil); err != nil || s.batch.Len() < maxReplay {
		return err
	}
	return s.flush()
}

// untouched says which partitions of the target an earlier try has written. Any other state there is somebody's.
func (r *rekey) untouched(ctx context.Context) (done map[int32]*changelogpb.Marker, err error) {
	metas, err := r.there.metas(ctx)
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
func (r *rekey) write(ctx context.Context, done map[int32]*changelogpb.Marker) error {
	next, err := inputStarts(ctx, r.target)
	if err != nil {
		return err
	}
	r.out.Keys, r.out.Merged = r.sorted.keys, r.sorted.merged
	for p := range r.target.n {
		m := r.target.marker(nil, next.of(p))
		m.OwnerEpoch, m.WatermarkMs = r.stand.epoch+1, r.stand.watermarkMs
		is := r.state(p, m)
		if done[p] != nil && done[p].OwnerEpoch == m.OwnerEpoch && maps.Equal(positions(done[p].Inputs), positions(m.Inputs)) {
			same, err := equal(is, r.there.state(p))
			if err != nil {
				return err
			}
			if same {
				continue
			}
		}
		if err := r.target.write(ctx, p, m, r.instead(p, is)); err != nil {
			return err
		}
		r.out.Written++
	}
	return nil
}

// state is what partition p of the target is to have, as written with m.
func (r *rekey) state(p int32, m *changelogpb.Marker) fill {
	c := stream.Commit{NowMs: m.WrittenAtMs, OwnerEpoch: m.OwnerEpoch, Sequence: m.Sequence, Next: positions(m.Inputs)}
	return func(send func(key, value []byte) error) error {
		return r.sorted.state(p)(func(key, value []byte) error {
			value, err := rewrite(r.target.proc, key, value, c)
			if err != nil {
				return err
			}
			return send(key, value)
		})
	}
}

// instead is the state, and the deletion of what an earlier try wrote and that is not in it.
func (r *rekey) instead(p int32, is fill) fill {
	return func(send func(key, value []byte) error) error {
		err := r.there.state(p)(func(key, _ []byte) error {
			value, err := get(r.sorted.db, storeKey(p, key[0], key[1:]))
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

// equal says whether both hand over the same.
func equal(one, other fill) (bool, error) {
	var sums [2]Digest
	for i, f := range []fill{one, other} {
		h := summer{hash: sha256.New()}
		if err := f(func(key, value []byte) error { h.add(key, value); return nil }); err != nil {
			return false, err
		}
		h.hash.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}
