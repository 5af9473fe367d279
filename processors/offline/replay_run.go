package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/replayrange"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
)

// ReplayProgress counts the records of a replay.
type ReplayProgress struct {
	Offsets, Total int64 // offsets folded, and offsets to fold in all
}

// Run folds the inputs up to until, and no record more, and waits until the state is settled.
// Partitions that are not in until stay where they are. A second Run continues. report, if not nil,
// is called a few times a second.
func (s *Replay) Run(ctx context.Context, until Positions, report func(ReplayProgress)) error {
	return s.run(ctx, &replayrange.Range{Until: until}, report)
}

// RunTo is Run up to a savepoint of the live processor. It leaves out what the live processor has
// skipped because it could not be read.
func (s *Replay) RunTo(ctx context.Context, sp *Savepoint, report func(ReplayProgress)) error {
	return s.run(ctx, &replayrange.Range{Until: sp.Positions(), Skips: sp.skips()}, report)
}

// run is Run for to.Until, without to.Skips.
func (s *Replay) run(ctx context.Context, to *replayrange.Range, report func(ReplayProgress)) error {
	if err := s.ready(); err != nil {
		return err
	}
	until := Positions(to.Until)
	to.From = s.state.Start
	if err := s.checkReachable(ctx, until); err != nil {
		return err
	}
	rt, err := processors.New(s.cfg, s.proc)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(replayrange.NewContext(ctx, to))
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(run) }()
	err = s.awaitRun(run, rt, ended, func(at Positions, settled bool) bool {
		p := s.progress(at, until)
		if report != nil {
			report(p)
		}
		return p.Offsets == p.Total && settled && running(rt) == rt.Partitions()
	})
	stop()
	if !errors.Is(err, errRunEnded) {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		return fmt.Errorf("replay %s: %w", s.proc.App, err)
	}
	return ctx.Err()
}

// running returns the number of partitions that a runtime folds.
func running(rt *processors.Runtime) (n int32) {
	for _, t := range rt.Status() {
		if t.State == processors.StateRunning {
			n++
		}
	}
	return n
}

// errRunEnded reports that the runtime of a replay ended before the replay did.
var errRunEnded = errors.New("the runtime ended")

// awaitRun waits until done returns true for the positions, and whether the state is settled there.
// It returns an error if a partition is stopped or the runtime ends.
func (s *Replay) awaitRun(ctx context.Context, rt *processors.Runtime, ended <-chan error, done func(Positions, bool) bool) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return errors.Join(errRunEnded, err)
		case <-tick.C:
		}
		for _, t := range rt.Status() {
			if t.State == processors.StateStopped {
				return fmt.Errorf("partition %d is stopped: %s", t.Partition, t.Reason)
			}
		}
		snap, err := rt.Snapshot()
		if errors.Is(err, processors.ErrNotRunning) {
			continue
		}
		if err != nil {
			return err
		}
		at, all := Positions{}, true
		for p := range rt.Partitions() {
			meta, merr := snap.Meta(p)
			ok, serr := settled(&s.proc, p, snap.Get)
			err, all = errors.Join(err, merr, serr), all && ok
			for topic, next := range changelogpb.NextOffsets(meta.GetMarker().GetInputs()) {
				at.Set(topic, p, next)
			}
		}
		if err = errors.Join(err, snap.Close()); err != nil {
			return err
		}
		if done(at, all) {
			return nil
		}
	}
}

func (s *Replay) progress(at, until Positions) (p ReplayProgress) {
	for topic, ends := range until {
		for n, end := range ends {
			from := s.state.Start[topic][n]
			p.Total += end - from
			if next, ok := at[topic][n]; ok {
				p.Offsets += min(next, end) - from
			}
		}
	}
	return p
}

// checkReachable checks that the inputs reach until, and that the replay is not past it.
func (s *Replay) checkReachable(ctx context.Context, until Positions) error {
	ends, err := kafka.EndOffsets(ctx, s.cfg.Kafka, s.live.Inputs...)
	if err != nil {
		return err
	}
	at, err := s.positions(ctx)
	if err != nil {
		return err
	}
	for topic, list := range until {
		for _, p := range slices.Sorted(maps.Keys(list)) {
			end := list[p]
			from, ok := s.state.Start[topic][p]
			if !ok {
				return fmt.Errorf(
					"%w: %s began from %s, which does not have %s[%d]: leave the partition out, or choose a beginning that has it",
					ErrReplay, s.proc.App, s.state.From, topic, p)
			}
			if next, ok := at[topic][p]; ok {
				from = next
			}
			if from > end {
				return fmt.Errorf(
					"%w: %s is at offset %d of %s[%d], past %d: take a newer savepoint of the live processor, or start a replay with another name", ErrReplay, s.proc.App, from, topic, p, end)
			}
			if last := ends[topic][p]; end > last {
				return fmt.Errorf(
					"%s[%d] ends at offset %d, and the replay must reach %d: check that this is the right cluster and that the topic was not created again", topic, p, last, end)
			}
		}
	}
	return nil
}

// positions returns the positions of the replay's store while the replay does not run.
func (s *Replay) positions(ctx context.Context) (Positions, error) {
	out := Positions{}
	if _, err := s.cfg.FS.Stat(path.Join(s.dir(), "db")); err != nil {
		return out, nil //nolint:nilerr // the replay never ran
	}
	state, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	metas, err := state.Metas(ctx)
	for p, meta := range metas {
		for topic, next := range changelogpb.NextOffsets(meta.Marker.Inputs) {
			out.Set(topic, p, next)
		}
	}
	return out, errors.Join(err, state.Close())
}

// Comparison compares one table of one partition.
type Comparison struct {
	Partition    int32
	Table        byte
	Live, Replay processors.TableHash
}

// Equal reports whether both tables have the same keys and canonical values.
func (c Comparison) Equal() bool { return c.Live == c.Replay }

// Compare compares the replay with a savepoint of the live processor at the same offsets, without
// the partitions in sp.Unsettled. It returns equal tables, too. It reads the store of the replay,
// so Run must have returned.
func (s *Replay) Compare(ctx context.Context, sp *Savepoint) (out []Comparison, err error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	state, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	for _, part := range sp.Partitions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if part.Unsettled {
			continue
		}
		meta, err := state.Meta(state.DB, part.Partition)
		if err != nil {
			return nil, err
		}
		at := changelogpb.NextOffsets(meta.GetMarker().GetInputs())
		if meta.Marker == nil { // the partition had no record
			at = map[string]int64{}
			for topic := range part.Next {
				at[topic] = s.state.Start[topic][part.Partition]
			}
		}
		if !maps.Equal(at, part.Next) {
			return nil, fmt.Errorf("%w: %s is at %v in partition %d, and savepoint %s is at %v: run it up to there first", ErrReplay,
				s.proc.App, at, part.Partition, sp.Name, part.Next)
		}
		if ok, err := settled(&s.proc, part.Partition, getOf(state)); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("%w: partition %d of %s is not settled: run it again", ErrReplay, part.Partition, s.proc.App)
		}
		got, err := hashTables(state, part.Partition, s.proc.Canonical)
		if err != nil {
			return nil, err
		}
		tables := maps.Clone(got)
		maps.Copy(tables, part.Tables)
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			out = append(out, Comparison{Partition: part.Partition, Table: table, Live: part.Tables[table], Replay: got[table]})
		}
	}
	return out, nil
}
