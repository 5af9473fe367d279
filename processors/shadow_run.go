package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"
)

// Positions are next offsets by input topic and partition.
type Positions map[string]map[int32]int64

// Positions are where the partitions of a savepoint are.
func (s *Savepoint) Positions() Positions {
	out := Positions{}
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
	Offsets, Of int64 // folded, and to be folded
}

// Run folds the inputs up to until, not a record further, and stops. Partitions that are not in until stay where they are.
// It can be called again, to go on. report, if not nil, is called a few times a second.
func (s *Shadow) Run(ctx context.Context, until Positions, report func(Progress)) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.reachable(ctx, until); err != nil {
		return err
	}
	cfg := s.cfg
	cfg.bounds = &bounds{from: s.state.Start, until: until}
	rt, err := New(cfg, s.proc)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(run) }()
	err = s.watch(run, rt, ended, func(at Positions) bool {
		p := s.progress(at, until)
		if report != nil {
			report(p)
		}
		return p.Offsets == p.Of && running(rt) == rt.Partitions()
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
func running(rt *Runtime) (n int32) {
	for _, t := range rt.Status() {
		if t.State == StateRunning {
			n++
		}
	}
	return n
}

var errRunEnded = errors.New("it ended")

// watch waits until done says so.
func (s *Shadow) watch(ctx context.Context, rt *Runtime, ended <-chan error, done func(Positions) bool) error {
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
			if t.State == StateStopped {
				return fmt.Errorf("partition %d stopped: %s", t.Partition, t.Reason)
			}
		}
		snap, err := rt.Snapshot()
		if errors.Is(err, ErrNotRunning) {
			continue
		}
		if err != nil {
			return err
		}
		at := Positions{}
		for p := range rt.Partitions() {
			meta, merr := snap.Meta(p)
			err = errors.Join(err, merr)
			for topic, next := range positions(meta.GetMarker().GetInputs()) {
				at.set(topic, p, next)
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

func (p Positions) set(topic string, n int32, next int64) {
	if p[topic] == nil {
		p[topic] = map[int32]int64{}
	}
	p[topic][n] = next
}

func (s *Shadow) progress(at, until Positions) (p Progress) {
	for topic, ends := range until {
		for n, end := range ends {
			from := s.state.Start[topic][n]
			p.Of += end - from
			if next, ok := at[topic][n]; ok {
				p.Offsets += min(next, end) - from
			}
		}
	}
	return p
}

// reachable checks that the inputs have what is to be folded, and that the shadow is not past it.
func (s *Shadow) reachable(ctx context.Context, until Positions) error {
	ends, err := EndOffsets(ctx, s.cfg.Kafka, s.live.Inputs...)
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
				return fmt.Errorf("%w %s began from %s, which does not have %s[%d]: leave the partition out, or begin from something that has it", ErrShadow, s.proc.App, s.state.From, topic, p)
			}
			if next, ok := at[topic][p]; ok {
				from = next
			}
			if from > end {
				return fmt.Errorf("%w %s is at offset %d of %s[%d], past %d: take a newer savepoint of the live processor, or begin anew under another name", ErrShadow, s.proc.App, from, topic, p, end)
			}
			if last := ends[topic][p]; end > last {
				return fmt.Errorf("%s[%d] ends at offset %d, the replay should go to %d: is it another cluster, or was the topic created anew?", topic, p, last, end)
			}
		}
	}
	return nil
}

// positions are where the shadow's store is, while it does not run.
func (s *Shadow) positions(ctx context.Context) (Positions, error) {
	out := Positions{}
	if _, err := s.cfg.FS.Stat(path.Join(s.dir(), "db")); err != nil {
		return out, nil //nolint:nilerr // it never ran
	}
	pic, err := openPicture(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	metas, err := pic.metas(ctx)
	for p, meta := range metas {
		for topic, next := range positions(meta.Marker.Inputs) {
			out.set(topic, p, next)
		}
	}
	return out, errors.Join(err, pic.close())
}

// Comparison is one table of one partition, live and in the shadow.
type Comparison struct {
	Partition    int32
	Table        byte
	Live, Shadow Sum
}

// Equal says that they hold the same.
func (c Comparison) Equal() bool { return c.Live == c.Shadow }

// Compare holds the shadow against a savepoint of the live processor, both at the same offsets. Equal are those whose
// Equal says so; the others are differences. It reads the shadow's store, so the shadow must not run.
func (s *Shadow) Compare(ctx context.Context, sp *Savepoint) (out []Comparison, err error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	pic, err := openPicture(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pic.close()) }()
	for _, part := range sp.Partitions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		meta, err := pic.meta(pic.db, part.Partition)
		if err != nil {
			return nil, err
		}
		at := positions(meta.GetMarker().GetInputs())
		if meta.Marker == nil { // it had nothing to fold
			at = map[string]int64{}
			for topic := range part.Next {
				at[topic] = s.state.Start[topic][part.Partition]
			}
		}
		if !maps.Equal(at, part.Next) {
			return nil, fmt.Errorf("%w %s is at %v in partition %d, savepoint %s at %v: let it run up to there first", ErrShadow, s.proc.App, at, part.Partition, sp.Name, part.Next)
		}
		got, err := sums(pic.db, part.Partition, s.proc.Canonical)
		if err != nil {
			return nil, err
		}
		tables := maps.Clone(got)
		maps.Copy(tables, part.Tables)
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			out = append(out, Comparison{Partition: part.Partition, Table: table, Live: part.Tables[table], Shadow: got[table]})
		}
	}
	return out, nil
}
