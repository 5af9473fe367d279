package offline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/replayrange"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Promotion selects what of a replay becomes live.
type Promotion struct {
	// Commit writes the difference. Without it Promote only reports the difference.
	Commit bool
	// Select makes the Selector of a partition, for the transaction c. live reads the live state.
	// Defaults to all differences as they are.
	Select func(partition int32, live stream.Get, c stream.Commit) (Selector, error)
	// Report is called with the progress of the replay up to the offsets of the live processor.
	Report func(ReplayProgress)
}

// Selector chooses what of one partition is promoted, and in which form.
type Selector interface {
	// Take reports whether the difference of one key is promoted. live and replay are nil where the
	// key does not exist. It must not keep the slices.
	Take(table byte, key, live, replay []byte) (bool, error)
	// Rewrite converts a value of the replay that is promoted into one of the transaction, with its
	// epoch, sequence and offsets. Timers are not converted. It is called after Take of the key, in
	// the order of keys.
	Rewrite(table byte, key, value []byte) ([]byte, error)
	// Finish is called after the last Take, unless no key was promoted. It changes what depends on
	// the promoted keys, such as sums over them.
	Finish(ch *stream.Changes) error
}

// Correction is the number of keys that a promotion changes in one table of one partition.
type Correction struct {
	Partition int32
	Table     byte
	Put       int64 // keys that are new or get another value
	Deleted   int64
}

// Promote makes the state of the replay the live state. The live processor must be stopped in all
// processes: ErrInUse; and it must have stopped in a settled state: ErrUnsettled. First the replay
// continues to the offsets at which the live processor stopped. Then the difference of each
// partition is written to the live changelog in one transaction. Readers of that topic see ordinary
// updates, and so do the live processes when they start again. The input offsets stay, so no record
// is counted twice. Outputs are not emitted again.
//
// Keys whose values have the same canonical form (stream.Processor.Canonical) stay as they are. A
// second Promote changes nothing. A Promote that was interrupted has changed some partitions in
// full and the others not at all. Another one does the rest.
func (s *Replay) Promote(ctx context.Context, o Promotion) (out []Correction, err error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	h, err := joinExclusive(ctx, &s.cfg, &s.live)
	if err != nil {
		return nil, err
	}
	defer h.release()
	dir := path.Join(s.dir(), "live")
	live, err := h.copyChangelog(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, live.Close(), s.cfg.FS.RemoveAll(dir)) }()
	metas, err := live.Metas(ctx)
	if err == nil {
		err = checkComplete(s.live.App, metas)
	}
	if err != nil {
		return nil, err
	}
	until, skips := Positions{}, map[int32][]*changelogpb.Skip{}
	for p, meta := range metas {
		if ok, err := settled(&s.live, p, getOf(live)); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf(
				"%w: partition %d of %s has rows that are not where further transactions will put them, so they would count as differences",
				ErrUnsettled, p, s.live.App)
		}
		for topic, next := range changelogpb.NextOffsets(meta.Marker.Inputs) {
			until.Set(topic, p, next)
		}
		skips[p] = meta.Marker.Skips
	}
	if err := s.run(ctx, &replayrange.Range{Until: until, Skips: skips}, o.Report); err != nil {
		return nil, err
	}
	replay, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, path.Join(s.dir(), "db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, replay.Close()) }()
	for p := range h.partitions {
		if metas[p] == nil {
			continue
		}
		part := &promotion{options: o, h: h, p: p, live: live, replay: replay, last: metas[p].Marker, counts: map[byte]*Correction{}}
		if err := part.run(ctx); err != nil {
			return out, fmt.Errorf("promote partition %d: %w", p, err)
		}
		for table := range stream.FirstLocalTable {
			if c := part.counts[table]; c != nil {
				out = append(out, *c)
			}
		}
	}
	return out, nil
}

// promotion is the promotion of one partition.
type promotion struct {
	options      Promotion
	h            *exclusiveMember
	p            int32
	live, replay *store.Offline
	last         *changelogpb.Marker // of the live changelog
	counts       map[byte]*Correction
	selector     Selector
	commit       stream.Commit
}

func (a *promotion) run(ctx context.Context) error {
	meta, err := a.replay.Meta(a.replay.DB, a.p)
	if err != nil {
		return err
	}
	next := changelogpb.NextOffsets(a.last.Inputs)
	if meta.Marker != nil && !maps.Equal(changelogpb.NextOffsets(meta.Marker.Inputs), next) {
		return fmt.Errorf("%w: the replay is at positions %v, the live processor at %v", ErrReplay,
			changelogpb.NextOffsets(meta.Marker.Inputs), next)
	}
	m := a.h.newMarker(a.last, next)
	m.WatermarkMs = max(m.WatermarkMs, meta.GetMarker().GetWatermarkMs())
	m.NextTimerMs = meta.GetMarker().GetNextTimerMs()
	a.commit = stream.Commit{NowMs: m.WrittenAtMs, Incarnation: m.Incarnation, OwnerEpoch: m.OwnerEpoch, Sequence: m.Sequence, Next: next}
	// The first pass only counts: without a difference not even a marker is written.
	if err := a.writeDifferences(func(_, _ []byte) error { return ctx.Err() }); err != nil || len(a.counts) == 0 || !a.options.Commit {
		return err
	}
	clear(a.counts)
	return a.h.write(ctx, a.p, m, a.writeDifferences)
}

// writeDifferences sends the keys that differ.
func (a *promotion) writeDifferences(send func(key, value []byte) error) (err error) {
	if a.options.Select != nil {
		live := func(table byte, key []byte) ([]byte, error) { return store.Get(a.live.DB, store.Key(a.p, table, key)) }
		if a.selector, err = a.options.Select(a.p, live, a.commit); err != nil {
			return err
		}
	}
	was, err := store.NewLoggedIter(a.live.DB, a.p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, was.Close()) }()
	is, err := store.NewLoggedIter(a.replay.DB, a.p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, is.Close()) }()
	was.First()
	is.First()
	for was.Valid() || is.Valid() {
		order := 0
		switch {
		case !is.Valid():
			order = -1
		case !was.Valid():
			order = 1
		default:
			order = bytes.Compare(was.Key(), is.Key())
		}
		if err := a.promoteKey(was, is, order, send); err != nil {
			return err
		}
		if order <= 0 {
			was.Next()
		}
		if order >= 0 {
			is.Next()
		}
	}
	if err := errors.Join(was.Error(), is.Error()); err != nil || a.selector == nil {
		return err
	}
	return a.finish(send)
}

// promoteKey compares one key. order is -1 if only the live state has it, 1 if only the replay has
// it, else 0.
func (a *promotion) promoteKey(was, is *pebble.Iterator, order int, send func(key, value []byte) error) error {
	var key, before, after, x, y []byte
	of := store.Canonical(a.h.proc.Canonical)
	if order <= 0 {
		key, before = was.Key()[2:], notNil(was.Value())
		x = of.Apply(key[0], key[1:], before)
	}
	if order >= 0 {
		key, after = is.Key()[2:], notNil(is.Value())
		y = of.Apply(key[0], key[1:], after)
	}
	table, state := key[0], key[1:]
	if x == nil && y == nil || order == 0 && bytes.Equal(x, y) {
		return nil
	}
	if a.selector != nil {
		if take, err := a.selector.Take(table, state, before, after); err != nil || !take {
			return err
		}
	}
	if after != nil && a.selector != nil && table != stream.TimerTable {
		var err error
		if after, err = a.selector.Rewrite(table, state, after); err != nil {
			return fmt.Errorf("table %d, key %x: %w", table, state, err)
		}
	}
	return a.send(table, key, after, send)
}

func (a *promotion) send(table byte, key, value []byte, send func(key, value []byte) error) error {
	c := a.counts[table]
	if c == nil {
		c = &Correction{Partition: a.p, Table: table}
		a.counts[table] = c
	}
	if value == nil {
		c.Deleted++
	} else {
		c.Put++
	}
	return send(key, value)
}

// finish asks the selector for further changes, unless it selected no key.
func (a *promotion) finish(send func(key, value []byte) error) error {
	if len(a.counts) == 0 {
		return nil
	}
	var ch stream.Changes
	if err := a.selector.Finish(&ch); err != nil {
		return err
	}
	for i := range ch.List {
		c := &ch.List[i]
		if c.Op != stream.OpPut && c.Op != stream.OpDelete || c.Table >= stream.FirstLocalTable {
			return fmt.Errorf("the selector may only put and delete keys of logged tables: table %d, operation %d", c.Table, c.Op)
		}
		if err := a.send(c.Table, c.LogKey(), c.Value, send); err != nil {
			return err
		}
	}
	return nil
}

// notNil distinguishes an empty value from a missing one.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
