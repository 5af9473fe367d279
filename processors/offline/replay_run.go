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
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
)

// Positions are where the partitions of a savepoint are.
func (s *Savepoint) Positions() processors.Positions {
	out := processors.Positions{}
	for _, part := range s.Partitions {
		for topic, next := range part.Next {
			if out[topic] == nil {
				out[topic] = map[int32]int64{}
			}
			out[topic][part.Partition] = next
		}
	}
	return out
}

// Progress is how far a replay is.
type Progress struct {
	Offsets, Total int64 // folded, and to be folded
}

// Run folds the inputs up to until, not a record further, and stops. Partitions that are not in until stay where they are.
// It can be called again, to go on. report, if not nil, is called a few times a second.
func (s *Replay) Run(ctx context.Context, until processors.Positions, report func(Progress)) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.checkReachable(ctx, until); err != nil {
		return err
	}
	cfg := s.cfg
	cfg.Range = &processors.ReplayRange{From: s.state.Start, Until: until}
	rt, err := processors.New(cfg, s.proc)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(run) }()
	err = s.awaitRun(run, rt, ended, func(at processors.Positions) bool {
		p := s.progress(at, until)
		if report != nil {
			report(p)
		}
		return p.Offsets == p.Total && running(rt) == rt.Partitions()
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

// running is the number of partitions that are taken over and being folded here.
func running(rt *processors.Runtime) (n int32) {
	for _, t := range rt.Status() {
		if t.State == processors.StateRunning {
			n++
		}
	}
	return n
}

var errRunEnded = errors.New("it ended")

// awaitRun waits until done says so.
func (s *Replay) awaitRun(ctx context.Context, rt *processors.Runtime, ended <-chan error, done func(processors.Positions) bool) error {
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
				return fmt.Errorf("partition %d stopped: %s", t.Partition, t.Reason)
			}
		}
		snap, err := rt.Snapshot()
		if errors.Is(err, processors.ErrNotRunning) {
			continue
		}
		if err != nil {
			return err
		}
		at := processors.Positions{}
		for p := range rt.Partitions() {
			meta, merr := snap.Meta(p)
			err = errors.Join(err, merr)
			for topic, next := range changelogpb.NextOffsets(meta.GetMarker().GetInputs()) {
				at.Set(topic, p, next)
			}
		}
		if err = errors.Join(err, snap.Close()); err != nil {
			return err
		}
		if done(at) {
			return nil
		}
	}
}

func (s *Replay) progress(at, until processors.Positions) (p Progress) {
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

// checkReachable checks that the inputs have what is to be folded, and that the shadow is not past it.
func (s *Replay) checkReachable(ctx context.Context, until processors.Positions) error {
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
				return fmt.Errorf("%w %s began from %s, which does not have %s[%d]: leave the partition out, or begin from something that has it", ErrReplay, s.proc.App, s.state.From, topic, p)
			}
			if next, ok := at[topic][p]; ok {
				from = next
			}
			if from > end {
				return fmt.Errorf("%w %s is at offset %d of %s[%d], past %d: take a newer savepoint of the live processor, or begin anew under another name", ErrReplay, s.proc.App, from, topic, p, end)
			}
			if last := ends[topic][p]; end > last {
				return fmt.Errorf("%s[%d] ends at offset %d, the replay should go to %d: is it another cluster, or was the topic created anew?", topic, p, last, end)
			}
		}
	}
	return nil
}

// positions are where the shadow's store is, while it does not run.
func (s *Replay) positions(ctx context.Context) (processors.Positions, error) {
	out := processors.Positions{}
	if _, err := s.cfg.FS.Stat(path.Join(s.dir(), "db")); err != nil {
		return out, nil //nolint:nilerr // it never ran
	}
	pic, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	metas, err := pic.Metas(ctx)
	for p, meta := range metas {
		for topic, next := range changelogpb.NextOffsets(meta.Marker.Inputs) {
			out.Set(topic, p, next)
		}
	}
	return out, errors.Join(err, pic.Close())
}

// Comparison is one table of one partition, live and in the shadow.
type Comparison struct {
	Partition    int32
	Table        byte
	Live, Replay store.Sum
}

// Equal says that they hold the same.
func (c Comparison) Equal() bool { return c.Live == c.Replay }

// Compare holds the shadow against a savepoint of the live processor, both at the same offsets. Equal are those whose
// Equal says so; the others are differences. It reads the shadow's store, so the shadow must not run.
func (s *Replay) Compare(ctx context.Context, sp *Savepoint) (out []Comparison, err error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	pic, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pic.Close()) }()
	for _, part := range sp.Partitions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		meta, err := pic.Meta(pic.DB, part.Partition)
		if err != nil {
			return nil, err
		}
		at := changelogpb.NextOffsets(meta.GetMarker().GetInputs())
		if meta.Marker == nil { // it had nothing to fold
			at = map[string]int64{}
			for topic := range part.Next {
				at[topic] = s.state.Start[topic][part.Partition]
			}
		}
		if !maps.Equal(at, part.Next) {
			return nil, fmt.Errorf("%w %s is at %v in partition %d, savepoint %s at %v: let it run up to there first", ErrReplay, s.proc.App, at, part.Partition, sp.Name, part.Next)
		}
		got, err := store.HashTables(pic.DB, part.Partition, s.proc.Canonical)
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
