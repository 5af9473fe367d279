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

// Repartitioning describes how the state of an application moves to another application with
// another number of partitions.
type Repartitioning struct {
	// Partition returns the target partition of a key, or NoPartition. It must not keep the slices.
	Partition func(table byte, key, value []byte) (int32, error)
	// Merge combines the values of a key that several source partitions have. Defaults to an error.
	Merge func(table byte, key, one, other []byte) ([]byte, error)
	// Extract is called with a handler of each source partition that ever committed, made and
	// rebuilt as in a takeover. It puts what Partition cannot move: what only the memory of the
	// handler holds, or what must be divided. Defaults to nothing.
	Extract func(h stream.Handler, put PutFunc) error
	// Finish puts what is known only after that, such as sums over the keys of a partition.
	// Defaults to nothing.
	Finish func(put PutFunc) error
	// Rewrite converts a value of the source into a value of commit c of the target. The owner
	// epoch of c is above all epochs of the source, so a reader that keeps the newest value of a
	// key finds it in the target. Defaults to the value as it is. Timers are not converted.
	Rewrite RewriteFunc
}

// NoPartition is what Repartitioning.Partition returns for a key that the target does not get.
const NoPartition int32 = -1

// PutFunc puts a key of a logged table into a target partition. It keeps neither key nor value.
type PutFunc func(partition int32, table byte, key, value []byte) error

// RepartitionResult counts what a repartition moved.
type RepartitionResult struct {
	Keys    int64 // of the target
	Merged  int64 // values that were merged with another one
	Written int   // target partitions; an earlier attempt had written the others as they are now
}

// Errors of a repartition.
var (
	// ErrNotEmpty reports that the target has state that no repartition of the source wrote.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrNothingToUndo reports that no repartition of the source to the target has begun.
	ErrNothingToUndo = errors.New("there is no repartition to undo")
	// ErrUnread reports that the source has not read its inputs to the end.
	ErrUnread = errors.New("the inputs have unread records")
	// ErrAdded reports records in partitions that an administrator has added to an input of the
	// source. The source does not read them.
	ErrAdded = errors.New("partitions that were added have records")
)

// Repartition writes the state of application from into the changelog of application to. from must
// be stopped in all processes (ErrInUse) and have read its inputs to the end (ErrUnread). The
// topics of to exist, with the wanted number of partitions. The changelog gets a marker and the
// group gets offsets, so that to starts as if it had committed that state, at the beginning of its
// inputs. The state of from stays as it is. As long as to has not run, UndoRepartition lets from
// continue instead.
//
// Each partition is written in one transaction. After a last check of the inputs of from, one
// transaction states in the markers of all partitions of from that their state was moved, and
// another one in those of to that the state is complete. From the first one on, Run of from returns
// processors.ErrMovedAway. Until the second one, Run of to returns processors.ErrPartlyMoved. A
// repartition that was interrupted is repeated: it continues, and if from has run in between, it
// corrects what it had written.
//
// cfg.FormerChangelogs are those of from. A state that was not moved to from as a whole is not
// moved further: processors.ErrPartlyMoved. A state that was moved to a third application is not
// moved again: processors.ErrMovedAway.
//
// Timers move with their keys: Partition gets those with table 127. Local tables do not move.
func Repartition(ctx context.Context, cfg processors.Config, from, to stream.Processor,
	o Repartitioning,
) (out RepartitionResult, err error) {
	r := &repartition{what: "repartition", cfg: cfg, options: o, out: &out}
	err = r.exclusively(ctx, from, to, r.move) // it sets out
	return out, err
}

// UndoRepartition lets from run again after a Repartition of its state to to, complete or not. From
// then on Run of to returns processors.ErrPartlyMoved, until the Repartition is repeated. If to has
// run, UndoRepartition returns ErrNotEmpty: the state of to may have more than that of from. If no
// Repartition of from to to has begun, it returns ErrNothingToUndo. Both must be stopped in all
// processes: ErrInUse.
func UndoRepartition(ctx context.Context, cfg processors.Config, from, to stream.Processor) error {
	r := &repartition{what: "undo the repartition of", cfg: cfg}
	return r.exclusively(ctx, from, to, r.undo)
}

// repartition is a repartition in progress. It copies the changelog of the source, sorts the keys
// into the target partitions, and writes these.
type repartition struct {
	what           string // for errors
	cfg            processors.Config
	options        Repartitioning
	out            *RepartitionResult
	source, target *exclusiveMember
	dir            string

	targetStore, sourceStore *store.Offline // copies of both changelogs
	sorted                   *sortedStore   // the target as it will be
	position                 appPosition
	earlier                  map[int32]*changelogpb.Marker // last markers of the target, of an earlier attempt
	markers                  map[int32]*changelogpb.Marker // of this attempt, for each partition of the target
}

// exclusively calls do as the exclusive member of both groups, with copies of both changelogs.
func (r *repartition) exclusively(ctx context.Context, from, to stream.Processor, do func(context.Context) error) (err error) {
	if err := errors.Join(from.Complete(), to.Complete()); err != nil {
		return err
	}
	what := fmt.Sprintf("%s %s to %s", r.what, from.App, to.App)
	if from.App == to.App || from.Changelog == to.Changelog {
		return fmt.Errorf("%s: the target needs an application id and a changelog of its own", what)
	}
	r.cfg.SetDefaults()
	if r.source, err = joinExclusive(ctx, &r.cfg, &from); err != nil {
		return err
	}
	defer r.source.release()
	if r.target, err = joinExclusive(ctx, &r.cfg, &to); err != nil {
		return err
	}
	defer r.target.release()
	r.dir = path.Join(r.cfg.Dir, to.App+".repartition")
	defer func() { err = errors.Join(err, r.cfg.FS.RemoveAll(r.dir)) }()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
	}()
	if r.targetStore, err = r.target.copyChangelog(ctx, path.Join(r.dir, "current")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.targetStore.Close()) }()
	if err := r.checkTarget(ctx); err != nil {
		return err
	}
	if r.sourceStore, err = r.source.copyChangelog(ctx, path.Join(r.dir, "source")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sourceStore.Close()) }()
	return do(ctx)
}

func (r *repartition) move(ctx context.Context) (err error) {
	if err = r.checkSource(ctx); err != nil {
		return err
	}
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
	if err := r.write(ctx); err != nil {
		return err
	}
	// Records that were produced to the former inputs in the meantime would be lost: check again.
	if _, err = r.source.position(ctx, r.sourceStore); err != nil {
		return err
	}
	if err := r.markMovedAway(ctx); err != nil {
		return err
	}
	return r.complete(ctx)
}

// sort puts every key into its target partition.
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

// extract makes a handler of a source partition and calls Extract.
func (r *repartition) extract(ctx context.Context, p int32, starts Positions) error {
	marker := r.position.last[p]
	if marker == nil {
		return nil
	}
	v := handler.Builder{
		Kafka: r.source.cfg.Kafka, Proc: r.source.proc, Log: *r.source.cfg.Log, DB: r.sourceStore.DB, InputStarts: starts.Partition(p),
	}
	v.Task = stream.Task{Partition: p, OwnerEpoch: marker.OwnerEpoch, Next: changelogpb.NextOffsets(marker.Inputs), Timers: noTimers{}}
	h, err := v.Build(ctx)
	if err != nil {
		return err
	}
	defer handler.Close(h)
	return r.options.Extract(h, r.sorted.put)
}

// RewriteFunc converts a value that another application wrote into a value of commit c.
type RewriteFunc func(table byte, key, value []byte, c stream.Commit) ([]byte, error)

// apply converts a value by its changelog key. A nil RewriteFunc returns the value as it is.
func (f RewriteFunc) apply(key, value []byte, c stream.Commit) ([]byte, error) {
	table := key[0]
	if f == nil || table == stream.TimerTable {
		return value, nil
	}
	value, err := f(table, key[1:], value, c)
	if err != nil {
		return nil, fmt.Errorf("table %d, key %x: %w", table, key[1:], err)
	}
	return value, nil
}

// noTimers drops the timers of a handler that only Extract reads: the state has them.
type noTimers struct{}

// Set implements stream.Timers.
func (noTimers) Set(stream.Timer) {}

// Cancel implements stream.Timers.
func (noTimers) Cancel(stream.Timer) {}
