package offline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Start is where a replay begins. The zero value is the beginning of the inputs, with an empty state.
type Start struct {
	// Savepoint of the live processor: its state and its offsets. The others begin with an empty state.
	Savepoint string
	// Offset of the first input, in each partition; the other inputs are read from their beginning.
	Offset int64
	// Time of the first records, by their timestamps.
	Time time.Time
	// AllowTrimmed goes on although the inputs do not have the beginning: retention has taken it, or see Processor.Continued.
	AllowTrimmed bool
}

// String says it in a word: also what a later Prepare must agree with.
func (s Start) String() string {
	switch {
	case s.Savepoint != "":
		return "savepoint " + s.Savepoint
	case !s.Time.IsZero():
		return "time " + s.Time.UTC().Format(time.RFC3339Nano)
	case s.Offset > 0:
		return fmt.Sprint("offset ", s.Offset)
	}
	return "beginning"
}

// Prepare makes the shadow's topics, and its state where it begins with one. Done once, it only checks that from is the same.
// One that was cut short begins anew.
func (s *Replay) Prepare(ctx context.Context, from Start) error {
	there, err := s.load()
	switch {
	case err != nil:
		return err
	case there && s.state.Ready && s.state.From == from.String():
		return nil
	case there && s.state.Ready:
		return fmt.Errorf("%w %s began from %s and cannot begin from %s: choose another name, or drop it", ErrReplay, s.proc.App, s.state.From, from)
	case there:
		if err := s.Drop(ctx); err != nil {
			return err
		}
	}
	cl, err := s.cfg.Kafka.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	if err := s.ensureNameFree(ctx, kadm.NewClient(cl)); err != nil {
		return err
	}
	s.state = replayState{Format: replayFormat, App: s.proc.App, Live: s.live.App, From: from.String(), Created: time.Now().UTC()}
	if err := s.begin(ctx, kadm.NewClient(cl), from); err != nil {
		return err
	}
	s.state.Ready = true
	return s.save()
}

// begin makes what the shadow needs. From the first thing on the shadow's file says whose it is.
func (s *Replay) begin(ctx context.Context, adm *kadm.Client, from Start) (err error) {
	pic, err := s.source(from)
	if err != nil {
		return err
	}
	if pic != nil {
		defer func() { err = errors.Join(err, pic.Close()) }()
	}
	metas, err := pic.Metas(ctx)
	if err != nil {
		return err
	}
	if s.state.Start, err = from.resolve(ctx, &s.live, adm, metas); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		return err
	}
	if err := errors.Join(s.createTopics(ctx, adm), failpoint.Hit(ctx, failpoint.OfflineTopics)); err != nil || pic == nil {
		return err
	}
	return s.seed(ctx, pic, metas)
}

// source is the state to begin with, nil for an empty one.
func (s *Replay) source(from Start) (*store.Offline, error) {
	if from.Savepoint == "" {
		return nil, nil //nolint:nilnil // no state is a state
	}
	all := &Savepoints{cfg: s.cfg, proc: s.live}
	if _, err := all.Get(from.Savepoint); err != nil {
		return nil, err
	}
	return store.OpenOffline(databaseOf(&s.cfg), s.live.App, path.Join(all.path(from.Savepoint), "db"))
}

// ensureNameFree refuses names under which something runs, or ran, that is no shadow of ours.
func (s *Replay) ensureNameFree(ctx context.Context, adm *kadm.Client) error {
	if err := ensureGroupEmpty(ctx, adm, s.proc.App); err != nil {
		return err
	}
	if _, err := s.cfg.FS.Stat(path.Join(s.dir(), "db")); err == nil {
		return fmt.Errorf("%w: %s holds the state of an application: choose another name", ErrReplay, s.dir())
	}
	list, err := adm.ListTopics(ctx, s.proc.WrittenTopics()...)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	for _, t := range list.Sorted() {
		if t.Err == nil {
			return fmt.Errorf("%w: topic %s is there, and %s knows of no replay called %s: choose another name, or delete the topic if nobody needs it", ErrReplay, t.Topic, s.cfg.Dir, s.proc.App)
		}
	}
	return nil
}

// resolve gives the offsets at which a replay begins: of all partitions, or of those in metas.
func (s Start) resolve(ctx context.Context, p *stream.Processor, adm *kadm.Client, metas map[int32]*changelogpb.TaskMeta) (processors.Positions, error) {
	starts, err := adm.ListStartOffsets(ctx, p.Inputs...)
	if err == nil {
		err = starts.Error()
	}
	ends, err2 := adm.ListEndOffsets(ctx, p.Inputs...)
	if err = errors.Join(err, err2); err == nil {
		err = ends.Error()
	}
	times := starts
	if err == nil && !s.Time.IsZero() && metas == nil {
		if times, err = adm.ListOffsetsAfterMilli(ctx, s.Time.UnixMilli(), p.Inputs...); err == nil {
			err = times.Error()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read where the inputs begin and end: %w", err)
	}
	if p.Migrated && metas == nil && !s.AllowTrimmed {
		return nil, fmt.Errorf("%w: %s began with the state of another application, and its inputs have only what came after that. Begin from a savepoint, or say that it does not matter", ErrTrimmed, p.App)
	}
	out := processors.Positions{}
	for _, topic := range p.Inputs {
		for n, o := range times[topic] {
			at, begin, end := o.Offset, starts[topic][n].Offset, ends[topic][n].Offset
			whole := s.Time.IsZero() // it must have everything since the beginning, or since the savepoint
			if topic == p.Inputs[0] && s.Offset > 0 && metas == nil {
				at, whole = max(begin, min(s.Offset, end)), false
			}
			was := int64(0)
			if metas != nil {
				meta := metas[n]
				if meta == nil {
					continue
				}
				known := false
				if was, known = changelogpb.NextOffsets(meta.GetMarker().GetInputs())[topic]; known {
					at = was
				}
			}
			if was > end {
				return nil, fmt.Errorf("%w: it is at offset %d of %s[%d], which ends at %d: is it of another cluster?", ErrSavepoint, was, topic, n, end)
			}
			if whole && begin > was {
				if !s.AllowTrimmed {
					return nil, fmt.Errorf("%w: %s[%d] begins at offset %d, and the replay at %d: %d records are gone, so that it cannot give what the live processor has. Begin from a savepoint, or say that it does not matter", ErrTrimmed, topic, n, begin, was, begin-was)
				}
				at = max(at, begin)
			}
			out.Set(topic, n, at)
		}
	}
	return out, nil
}

// seed writes the state of a savepoint to the shadow's changelog, as if an owner had committed it: partition by partition.
func (s *Replay) seed(ctx context.Context, pic *store.Offline, metas map[int32]*changelogpb.TaskMeta) error {
	h, err := joinExclusive(ctx, &s.cfg, &s.proc)
	if err != nil {
		return err
	}
	defer h.release()
	for p := range h.partitions {
		meta := metas[p]
		if meta == nil {
			continue
		}
		next := map[string]int64{}
		for topic, at := range s.state.Start {
			next[topic] = at[p]
		}
		if err := h.write(ctx, p, h.newMarker(meta.Marker, next), pic.Records(p)); err != nil {
			return err
		}
	}
	return nil
}
