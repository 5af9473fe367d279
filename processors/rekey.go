package processors

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/weirhq/weir/stream"
)

// Rekeying moves the state of an application to another one with another number of partitions.
type Rekeying struct {
	// Place says to which partition of the target a key goes; Nowhere leaves it out. None of the slices is to be kept.
	Place func(table byte, key, value []byte) (int32, error)
	// Merge makes one value of two of the same key that come from different partitions. Defaults to an error.
	Merge func(table byte, key, one, other []byte) ([]byte, error)
	// Take is called with a handler of each partition of the source that ever committed, as of where it stands and warmed up, to
	// put what Place cannot: what only its memory holds, or what has to be divided. Defaults to nothing.
	Take func(h stream.Handler, put Put) error
	// Rest puts what is known only after all of that, such as sums over the keys that came to a partition. Defaults to nothing.
	Rest func(put Put) error
}

// Nowhere is where Place puts a key that the target does not get.
const Nowhere int32 = -1

// Put puts a key of a logged table into a partition of the target. It keeps neither key nor value.
type Put func(partition int32, table byte, key, value []byte) error

// Rekeyed says what a rekeying moved.
type Rekeyed struct {
	Keys    int64 // of the target
	Merged  int64 // values that were merged with another
	Written int   // partitions of the target; the others an earlier try had written as they are now
}

// Errors of a rekeying.
var (
	// ErrNotEmpty says that the target of a rekeying has state that no rekeying gave it.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrUnread says that inputs of the source have records that it has not read.
	ErrUnread = errors.New("records are not read")
)

// Rekey writes the state of application from, which must be stopped everywhere (ErrInUse) and have read its inputs to their end
// (ErrUnread), into the changelog of application to, whose topics exist and have as many partitions as wanted: with a marker
// and the group's offsets, so that to starts as if it had committed it, at the beginning of its inputs. Nothing of from is
// changed but for a barrier in its changelog: until to has proven itself there is a way back. Each partition is written in one
// transaction. A rekeying that was cut short is repeated: it goes on, and if from went on meanwhile, it corrects what it had
// written.
//
// Values go through to's Restamp, with an owner's epoch above all of from's: who keeps the newest of a key finds it there.
// Timers go where Place sends their keys, for which it gets table 127. Local tables are not moved.
func Rekey(ctx context.Context, cfg Config, from, to stream.Processor, how Rekeying) (out Rekeyed, err error) {
	if err := errors.Join(from.Complete(), to.Complete()); err != nil {
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

	there, was *picture // of the target and the source, as they are
	sorted     *sorting // of the target, as it is to be
	stand      standing
}

func (r *rekey) run(ctx context.Context) (err error) {
	if r.there, err = r.target.copyLog(ctx, path.Join(r.dir, "there")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.there.close()) }()
	done, err := r.untouched(ctx)
	if err != nil {
		return err
	}
	if r.was, err = r.source.copyLog(ctx, path.Join(r.dir, "source")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.was.close()) }()
	if r.stand, err = r.source.stands(ctx, r.was); err != nil {
		return err
	}
	if r.sorted, err = newSorted(r.target, path.Join(r.dir, "target"), r.how); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sorted.close()) }()
	if err := r.sort(ctx); err != nil {
		return err
	}
	if err := r.write(ctx, done); err != nil {
		return err
	}
	// Who sent to the former inputs meanwhile would not be counted.
	_, err = r.source.stands(ctx, r.was)
	return err
}

// sort puts every key where it belongs.
func (r *rekey) sort(ctx context.Context) error {
	starts, err := inputStarts(ctx, r.source)
	if err != nil {
		return err
	}
	for p := range r.source.n {
		err := r.was.state(p)(func(key, value []byte) error {
			return errors.Join(ctx.Err(), r.sorted.place(key[0], key[1:], value))
		})
		if err == nil && r.how.Take != nil {
			err = r.take(ctx, p, starts)
		}
		if err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	if r.how.Rest != nil {
		if err := r.how.Rest(r.sorted.put); err != nil {
			return err
		}
	}
	return r.sorted.flush()
}

// take makes a handler as of where the source stands.
func (r *rekey) take(ctx context.Context, p int32, starts Positions) error {
	marker := r.stand.last[p]
	if marker == nil {
		return nil
	}
	v := revival{kafka: r.source.cfg.Kafka, proc: r.source.proc, log: *r.source.cfg.Log, db: r.was.db, start: starts.of(p)}
	v.task = stream.Task{Partition: p, OwnerEpoch: marker.OwnerEpoch, Next: positions(marker.Inputs), Timers: noTimers{}}
	h, err := v.handler(ctx)
	if err != nil {
		return err
	}
	defer closeHandler(h)
	return r.how.Take(h, r.sorted.put)
}

// rewrite is Processor.Rewrite for a key as it is in the changelog.
func rewrite(p *stream.Processor, key, value []byte, c stream.Commit) ([]byte, error) {
	table := key[0]
	if p.Rewrite == nil || table == stream.TimerTable {
		return value, nil
	}
	value, err := p.Rewrite(table, key[1:], value, c)
	if err != nil {
		return nil, fmt.Errorf("table %d, key %x: %w", table, key[1:], err)
	}
	return value, nil
}

// noTimers drops the timers of a handler that is made to look at its state and thrown away: the state has them.
type noTimers struct{}

// Set implements stream.Timers.
func (noTimers) Set(stream.Timer) {}

// Cancel implements stream.Timers.
func (noTimers) Cancel(stream.Timer) {}
