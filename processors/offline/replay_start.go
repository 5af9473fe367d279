package offline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ReplayStart is the beginning of a replay. The zero value is the beginning of the inputs, with an
// empty state.
type ReplayStart struct {
	// Savepoint names a savepoint of the live processor. The replay begins with its state, at its
	// offsets.
	Savepoint string
	// Offset is the first offset in each partition of the first input. The other inputs are read
	// from their beginning.
	Offset int64
	// Time is the timestamp of the first records.
	Time time.Time
	// Migrated states that the live state began with the state of another application. Then the
	// inputs alone cannot reproduce it, and without a savepoint Prepare returns ErrTrimmed.
	Migrated bool
	// AllowTrimmed begins although the inputs do not have all records: retention has deleted the
	// first ones, or Migrated is set.
	AllowTrimmed bool
}

// String describes the beginning. A second Prepare must be called with a ReplayStart of the same
// description.
func (s ReplayStart) String() string {
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

// Prepare creates the topics of the replay, and its state if it begins with a savepoint. If the
// replay is prepared already, Prepare only checks that from is the same. A Prepare that was
// interrupted starts again from nothing.
func (s *Replay) Prepare(ctx context.Context, from ReplayStart) error {
	there, err := s.load()
	switch {
	case err != nil:
		return err
	case there && s.state.Ready && s.state.From == from.String():
		return nil
	case there && s.state.Ready:
		return fmt.Errorf("%w: %s began from %s and cannot begin from %s: choose another name, or drop the replay", ErrReplay, s.proc.App,
			s.state.From, from)
	case there:
		if err := s.drop(ctx); err != nil {
			return err
		}
	}
	cl, err := s.cfg.Kafka.Connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	if err := s.ensureNameFree(ctx, kadm.NewClient(cl)); err != nil {
		return err
	}
	if err := s.ensureLiveTopics(ctx, kadm.NewClient(cl)); err != nil {
		return err
	}
	s.state = replayState{Format: replayFormat, App: s.proc.App, Live: s.live.App, From: from.String(), Created: time.Now().UTC()}
	if err := s.begin(ctx, kadm.NewClient(cl), from); err != nil {
		return err
	}
	s.state.Ready = true
	return s.save()
}

// begin creates what the replay needs. It writes the state file first, so that Drop finds
// everything.
func (s *Replay) begin(ctx context.Context, adm *kadm.Client, from ReplayStart) (err error) {
	state, err := s.source(from)
	if err != nil {
		return err
	}
	if state != nil {
		defer func() { err = errors.Join(err, state.Close()) }()
	}
	metas, err := state.Metas(ctx)
	if err != nil {
		return err
	}
	if s.state.Start, err = from.resolve(ctx, &s.live, adm, metas); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		return err
	}
	if err := errors.Join(s.createTopics(ctx, adm), failpoint.Hit(ctx, failpoint.OfflineTopics)); err != nil || state == nil {
		return err
	}
	return s.seed(ctx, state, metas)
}

// source returns the state that the replay begins with; nil for an empty one.
func (s *Replay) source(from ReplayStart) (*store.Offline, error) {
	if from.Savepoint == "" {
		return nil, nil //nolint:nilnil // nil is the empty state
	}
	all := &Savepoints{cfg: s.cfg, proc: s.live}
	if _, err := all.Get(from.Savepoint); err != nil {
		return nil, err
	}
	return store.OpenOffline(databaseOf(&s.cfg), s.live.App, path.Join(all.path(from.Savepoint), "db"))
}

// ensureNameFree returns an error if the name belongs to something that is not a replay of this
// directory.
func (s *Replay) ensureNameFree(ctx context.Context, adm *kadm.Client) error {
	if err := ensureGroupEmpty(ctx, adm, s.proc.App); err != nil {
		return err
	}
	if _, err := s.cfg.FS.Stat(path.Join(s.dir(), "db")); err == nil {
		return fmt.Errorf("%w: %s has the state of an application: choose another name", ErrReplay, s.dir())
	}
	list, err := adm.ListTopics(ctx, s.proc.WrittenTopics()...)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	for _, t := range list.Sorted() {
		if t.Err == nil {
			return fmt.Errorf("%w: topic %s exists, and %s has no replay %s: choose another name, or delete the topic if it is not needed",
				ErrReplay, t.Topic, s.cfg.Dir, s.proc.App)
		}
	}
	return nil
}

// ensureLiveTopics returns ErrTopics if topics of the live application do not exist.
func (s *Replay) ensureLiveTopics(ctx context.Context, adm *kadm.Client) error {
	list, err := adm.ListTopics(kafka.Uncached(ctx), append(s.live.WrittenTopics(), s.live.Inputs...)...)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	var names []string
	for _, t := range list.Sorted() {
		if errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			names = append(names, t.Topic)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf(
			"%w: topics of %s do not exist: %s. A replay reads the inputs of the live application, and takes partitions and settings from its other topics. Nothing was created. Check that the names and the brokers are those of the live application", processors.ErrTopics, s.live.App, strings.Join(names, ", "))
	}
	return nil
}

// resolve returns the offsets at which a replay begins: of all partitions, or of those in metas.
func (s ReplayStart) resolve(ctx context.Context, p *stream.Processor, adm *kadm.Client,
	metas map[int32]*changelogpb.TaskMeta,
) (Positions, error) {
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
		return nil, fmt.Errorf("read the first and last offsets of the inputs: %w", err)
	}
	if s.Migrated && metas == nil && !s.AllowTrimmed {
		return nil, fmt.Errorf(
			"%w: %s began with the state of another application, and its inputs have only later records: begin from a savepoint, or set AllowTrimmed", ErrTrimmed, p.App)
	}
	out := Positions{}
	for _, topic := range p.Inputs {
		for n, o := range times[topic] {
			at, begin, end := o.Offset, starts[topic][n].Offset, ends[topic][n].Offset
			whole := s.Time.IsZero() // every record since the beginning or the savepoint is needed
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
				return nil, fmt.Errorf("%w: the savepoint is at offset %d of %s[%d], which ends at %d: check that the savepoint is of this cluster", ErrSavepoint, was, topic, n, end)
			}
			if whole && begin > was {
				if !s.AllowTrimmed {
					return nil, fmt.Errorf(
						"%w: %s[%d] begins at offset %d, and the replay at %d: %d records are gone, so the replay cannot have the state of the live processor: begin from a savepoint, or set AllowTrimmed", ErrTrimmed, topic, n, begin, was, begin-was)
				}
				at = max(at, begin)
			}
			out.Set(topic, n, at)
		}
	}
	return out, nil
}

// seed writes the state of a savepoint to the changelog of the replay, one transaction for each
// partition.
func (s *Replay) seed(ctx context.Context, state *store.Offline, metas map[int32]*changelogpb.TaskMeta) error {
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
		if err := h.write(ctx, p, h.newMarker(meta.Marker, next), state.Records(p)); err != nil {
			return err
		}
	}
	return nil
}
