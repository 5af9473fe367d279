package offline

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Repartitioning moves the state of an application to another one with another number of partitions.
type Repartitioning struct {
	// Partition says to which partition of the target a key goes; Nowhere leaves it out. None of the slices is to be kept.
	Partition func(table byte, key, value []byte) (int32, error)
	// Merge makes one value of two of the same key that come from different partitions. Defaults to an error.
	Merge func(table byte, key, one, other []byte) ([]byte, error)
	// Extract is called with a handler of each partition of the source that ever committed, as of where it stands and warmed up, to
	// put what Place cannot: what only its memory holds, or what has to be divided. Defaults to nothing.
	Extract func(h stream.Handler, put Put) error
	// Finish puts what is known only after all of that, such as sums over the keys that came to a partition. Defaults to nothing.
	Finish func(put Put) error
}

// NoPartition is where Place puts a key that the target does not get.
const NoPartition int32 = -1

// Put puts a key of a logged table into a partition of the target. It keeps neither key nor value.
type Put func(partition int32, table byte, key, value []byte) error

// RepartitionResult says what a rekeying moved.
type RepartitionResult struct {
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

// Repartition writes the state of application from, which must be stopped everywhere (ErrInUse) and have read its inputs to their end
// (ErrUnread), into the changelog of application to, whose topics exist and have as many partitions as wanted: with a marker
// and the group's offsets, so that to starts as if it had committed it, at the beginning of its inputs. Nothing of from is
// changed but for a barrier in its changelog: until to has proven itself there is a way back. Each partition is written in one
// transaction. A rekeying that was cut short is repeated: it goes on, and if from went on meanwhile, it corrects what it had
// written.
//
// Values go through to's Restamp, with an owner's epoch above all of from's: who keeps the newest of a key finds it there.
// Timers go where Place sends their keys, for which it gets table 127. Local tables are not moved.
func Repartition(ctx context.Context, cfg processors.Config, from, to stream.Processor, how Repartitioning) (out RepartitionResult, err error) {
	if err := errors.Join(from.Complete(), to.Complete()); err != nil {
		return out, err
	}
	if from.App == to.App || from.Changelog == to.Changelog {
		return out, fmt.Errorf("rekey %s to %s: the target needs an application id and a changelog of its own", from.App, to.App)
	}
	cfg.Complete()
	source, err := joinExclusive(ctx, &cfg, &from)
	if err != nil {
		return out, err
	}
	defer source.release()
	target, err := joinExclusive(ctx, &cfg, &to)
	if err != nil {
		return out, err
	}
	defer target.release()
	dir := path.Join(cfg.Dir, to.App+".rekey")
	defer func() { err = errors.Join(err, cfg.FS.RemoveAll(dir)) }()
	r := &repartition{options: how, out: &out, source: source, target: target, dir: dir}
	if err := r.run(ctx); err != nil {
		return out, fmt.Errorf("rekey %s to %s: %w", from.App, to.App, err)
	}
	return out, nil
}

// repartition is a Rekeying under way: copy the source's changelog, sort its keys into the new partitions, write these.
type repartition struct {
	options        Repartitioning
	out            *RepartitionResult
	source, target *exclusiveMember
	dir            string

	targetStore, sourceStore *store.Offline // of the target and the source, as they are
	sorted                   *sortedStore   // of the target, as it is to be
	position                 appPosition
}

func (r *repartition) run(ctx context.Context) (err error) {
	if r.targetStore, err = r.target.copyChangelog(ctx, path.Join(r.dir, "there")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.targetStore.Close()) }()
	done, err := r.checkTarget(ctx)
	if err != nil {
		return err
	}
	if r.sourceStore, err = r.source.copyChangelog(ctx, path.Join(r.dir, "source")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sourceStore.Close()) }()
	if r.position, err = r.source.position(ctx, r.sourceStore); err != nil {
		return err
	}
	if r.sorted, err = newSortedStore(r.target, path.Join(r.dir, "target"), r.options); err != nil {
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
	_, err = r.source.position(ctx, r.sourceStore)
	return err
}

// sort puts every key where it belongs.
func (r *repartition) sort(ctx context.Context) error {
	starts, err := inputStarts(ctx, r.source)
	if err != nil {
		return err
	}
	for p := range r.source.partitions {
		err := r.sourceStore.Records(p)(func(key, value []byte) error {
			return errors.Join(ctx.Err(), r.sorted.place(key[0], key[1:], value))
		})
		if err == nil && r.options.Extract != nil {
			err = r.extract(ctx, p, starts)
		}
		if err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	if r.options.Finish != nil {
		if err := r.options.Finish(r.sorted.put); err != nil {
			return err
		}
	}
	return r.sorted.flush()
}

// extract makes a handler as of where the source stands.
func (r *repartition) extract(ctx context.Context, p int32, starts processors.Positions) error {
	marker := r.position.last[p]
	if marker == nil {
		return nil
	}
	v := handler.Builder{Kafka: r.source.cfg.Kafka, Proc: r.source.proc, Log: *r.source.cfg.Log, DB: r.sourceStore.DB, InputStarts: starts.Partition(p)}
	v.Task = stream.Task{Partition: p, OwnerEpoch: marker.OwnerEpoch, Next: changelogpb.NextOffsets(marker.Inputs), Timers: noTimers{}}
	h, err := v.Build(ctx)
	if err != nil {
		return err
	}
	defer handler.Close(h)
	return r.options.Extract(h, r.sorted.put)
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
