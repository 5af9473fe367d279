package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/internal/stream"
)

// Rekeying moves the state of an application to another one with another number of partitions.
type Rekeying struct {
	// Place says to which partition of the target a key goes.
	Place func(table byte, key []byte) (int32, error)
	// Merge makes one value of two of the same key that come from different partitions. Defaults to an error.
	Merge func(table byte, key, one, other []byte) ([]byte, error)
	// Next is where the target's inputs are read from: new topics, filled by whoever sends to the new partitions. Defaults to
	// their beginning.
	Next Positions
}

// Rekeyed says what a rekeying moved.
type Rekeyed struct {
	Keys, Merged int64
	From         Positions // where the source stands: what its inputs have from there on belongs to the target's inputs
}

// ErrNotEmpty says that the target of a rekeying has state already.
var ErrNotEmpty = errors.New("the target is not empty")

// Rekey writes the state of application from, which must be stopped everywhere (ErrInUse), into the changelog of application
// to, whose topics exist, are empty and have as many partitions as wanted: with a marker and the group's offsets, so that to
// starts as if it had committed it. Nothing of from is changed but for a barrier in its changelog: until to has proven itself
// there is a way back. Each partition is written in one transaction. A rekeying that was cut short goes on when it is repeated.
//
// Timers go where Place sends their keys, for which it gets table 127.
// Local tables are not moved: the target's processor rebuilds them from its inputs, as far as these go back.
func Rekey(ctx context.Context, cfg Config, from, to Processor, how Rekeying) (out Rekeyed, err error) {
	if err := errors.Join(from.check(), to.check()); err != nil {
		return out, err
	}
	if from.App == to.App || from.Changelog == to.Changelog {
		return out, fmt.Errorf("rekey %s to %s: the target needs an application id and a changelog of its own", from.App, to.App)
	}
	cfg.setDefaults()
	source, err := hold(ctx, &cfg, &from)
	if err != nil {
		return out, err
	}
	defer source.release()
	target, err := hold(ctx, &cfg, &to)
	if err != nil {
		return out, err
	}
	defer target.release()
	dir := path.Join(cfg.Dir, to.App+".rekey")
	defer func() { err = errors.Join(err, cfg.FS.RemoveAll(dir)) }()
	r := &rekey{how: how, out: &out, source: source, target: target, dir: dir}
	if err := r.run(ctx); err != nil {
		return out, fmt.Errorf("rekey %s to %s: %w", from.App, to.App, err)
	}
	return out, nil
}

// rekey is a Rekeying under way: copy the source's changelog, sort its keys into the new partitions, write these.
type rekey struct {
	how            Rekeying
	out            *Rekeyed
	source, target *holder
	dir            string

	sorted      *picture
	batch       *pebble.Batch
	watermarkMs int64 // the least of the source's partitions
}

func (r *rekey) run(ctx context.Context) (err error) {
	done, err := r.written(ctx)
	if err != nil {
		return err
	}
	was, err := r.source.copyLog(ctx, path.Join(r.dir, "source"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, was.close()) }()
	if err := r.positions(ctx, was); err != nil {
		return err
	}
	if r.sorted, err = newPicture(r.target.cfg, r.target.proc.App, path.Join(r.dir, "target")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sorted.close()) }()
	if err := r.sort(ctx, was); err != nil {
		return err
	}
	next, err := r.starts(ctx)
	if err != nil {
		return err
	}
	for p := range r.target.n {
		if done[p] {
			continue
		}
		at := map[string]int64{}
		for topic := range next {
			at[topic] = next[topic][p]
		}
		m := r.target.marker(nil, at)
		if m.WatermarkMs = r.watermarkMs; m.WatermarkMs == never {
			m.WatermarkMs = 0 // the source never committed
		}
		if err := r.target.write(ctx, p, m, r.sorted.state(p)); err != nil {
			return err
		}
	}
	return nil
}

// written says which partitions of the target an earlier try has written. Any other state there is somebody's.
func (r *rekey) written(ctx context.Context) (done map[int32]bool, err error) {
	there, err := r.target.copyLog(ctx, path.Join(r.dir, "there"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, there.close()) }()
	metas, err := there.metas(ctx)
	done = map[int32]bool{}
	for p, meta := range metas {
		if m := meta.Marker; !m.Rewritten || m.Sequence != 1 {
			return nil, fmt.Errorf("%w: partition %d of %s has transaction %d: it ran already", ErrNotEmpty, p, r.target.proc.Changelog, m.Sequence)
		}
		done[p] = true
	}
	return done, err
}

// positions notes where the source stands.
func (r *rekey) positions(ctx context.Context, was *picture) error {
	metas, err := was.metas(ctx)
	r.out.From, r.watermarkMs = Positions{}, never
	for p, meta := range metas {
		r.watermarkMs = min(r.watermarkMs, meta.Marker.WatermarkMs)
		for topic, next := range positions(meta.Marker.Inputs) {
			r.out.From.set(topic, p, next)
		}
	}
	return err
}

// sort puts every key where it belongs.
func (r *rekey) sort(ctx context.Context, was *picture) error {
	r.batch = r.sorted.db.NewIndexedBatch()
	for p := range r.source.n {
		err := was.state(p)(func(key, value []byte) error {
			if r.batch.Len() >= maxReplay {
				if err := r.flush(); err != nil {
					return err
				}
			}
			return errors.Join(ctx.Err(), r.put(key[0], key[1:], value))
		})
		if err != nil {
			return errors.Join(fmt.Errorf("partition %d: %w", p, err), r.batch.Close())
		}
	}
	return errors.Join(r.flush(), r.batch.Close())
}

func (r *rekey) flush() error {
	err := errors.Join(r.batch.Commit(pebble.NoSync), r.batch.Close())
	r.batch = r.sorted.db.NewIndexedBatch()
	return err
}

// timerHead precedes a timer's own key: its clock and its time.
const timerHead = 1 + 8

func (r *rekey) put(table byte, key, value []byte) error {
	of := key
	if table == stream.TimerTable {
		of = key[timerHead:]
	}
	p, err := r.how.Place(table, of)
	if err == nil && (p < 0 || p >= r.target.n) {
		err = fmt.Errorf("it is placed in partition %d of %d", p, r.target.n)
	}
	if err != nil {
		return fmt.Errorf("table %d, key %x: %w", table, key, err)
	}
	at := storeKey(p, table, key)
	other, err := get(r.batch, at)
	if err != nil {
		return err
	}
	if other != nil {
		if r.how.Merge == nil {
			return fmt.Errorf("table %d, key %x: two partitions have it, and there is no way given to merge them", table, key)
		}
		if value, err = r.how.Merge(table, key, other, slices.Clone(value)); err != nil {
			return fmt.Errorf("merge table %d, key %x: %w", table, key, err)
		}
		r.out.Merged++
	}
	r.out.Keys++
	return r.batch.Set(at, value, nil)
}

// starts are where the target's inputs are read from.
func (r *rekey) starts(ctx context.Context) (Positions, error) {
	list, err := r.target.adm.ListStartOffsets(ctx, r.target.proc.Inputs...)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read where the inputs of %s begin: %w", r.target.proc.App, err)
	}
	next := Positions{}
	list.Each(func(o kadm.ListedOffset) { next.set(o.Topic, o.Partition, o.Offset) })
	for topic, at := range r.how.Next {
		if next[topic] == nil {
			return nil, fmt.Errorf("positions are given for %s, which is no input of %s", topic, r.target.proc.App)
		}
		maps.Copy(next[topic], at)
	}
	return next, nil
}
