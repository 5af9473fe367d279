package queues

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// write hands over what has changed in a queue since the last Flush.
func (s *Shard) write(q *queue, now int64, ch *stream.Changes) error {
	t := s.tables
	if err := s.remove(q, ch); err != nil { // of segments that an earlier Flush has closed
		return err
	}
	if err := s.removeRefusals(q, now, ch); err != nil {
		return err
	}
	if q.set {
		t.settings.Put(ch, Prefix(nil, q.name), q.settings)
		q.set = false
	}
	for i := range q.submitted {
		x := &q.submitted[i]
		key := NumberKey(nil, q.name, x.id)
		if t.jobs.Put(ch, key, x.job); len(x.payload) > 0 {
			t.payloads.Put(ch, key, x.payload)
		}
		s.recent.add(x)
	}
	clear(q.submitted)
	q.submitted = q.submitted[:0]
	for id, m := range q.results {
		t.results.Put(ch, NumberKey(nil, q.name, id), m)
	}
	clear(q.results)
	for id, m := range q.refusals {
		t.refusals.Put(ch, NumberKey(nil, q.name, id), m)
	}
	clear(q.refusals)
	if d := q.core.Delta(); d != nil {
		s.writeDelta(q, d, ch)
		q.changes = q.core.Changes(d)
	}
	return nil
}

// writeDelta hands over the rows of a delta.
func (s *Shard) writeDelta(q *queue, d *jobqueue.Delta, ch *stream.Changes) {
	t := s.tables
	t.queues.Put(ch, Prefix(nil, q.name), &eventspb.JobQueueState{
		NowMs: d.Now, Paused: d.Paused, Filled: d.Filled, Last: uint64(d.Last), EvictedBelow: uint64(d.Gone),
	})
	for _, name := range d.Names {
		t.names.Put(ch, NameKey(nil, q.name, name), nil)
	}
	for i := range d.Segments {
		row := &d.Segments[i]
		t.segments.Put(ch, NumberKey(nil, q.name, row.First), segmentRecord(row))
		if row.Closed {
			q.closed = append(q.closed, row.First)
			delete(q.ended, row.First)
		}
	}
	var key []byte
	for i := range d.Jobs {
		key = NumberKey(key[:0], q.name, d.Jobs[i].ID)
		t.status.Put(ch, key, statusRecord(&d.Jobs[i]))
	}
	for i := range d.Agents {
		row := &d.Agents[i]
		t.agents.Put(ch, NameKey(nil, q.name, row.Name), agentRecord(row))
	}
	for _, name := range d.Down {
		t.agents.Delete(ch, NameKey(nil, q.name, name))
	}
	for i := range d.Means {
		row := &d.Means[i]
		key := meanKey(nil, q.name, row.Require, row.Prefer)
		if row.Ms == 0 {
			t.means.Delete(ch, key)
			continue
		}
		t.means.Put(ch, key, &eventspb.JobMean{Require: row.Require, Prefer: row.Prefer, Ms: row.Ms})
	}
}

// remove removes the rows of jobs of the first closed segment, some at a time. Range shows what the
// Flush before has written, so a segment is done when a Flush finds nothing.
func (s *Shard) remove(q *queue, ch *stream.Changes) error {
	if len(q.closed) == 0 {
		return nil
	}
	first, n := q.closed[0], 0
	from, to := NumberKey(nil, q.name, first), NumberKey(nil, q.name, first+jobqueue.SegmentSize)
	for _, table := range jobTables() {
		err := s.Range(table, from, to, func(key, _ []byte) error {
			if n == maxRemoved {
				return stream.ErrStopScan
			}
			n++
			ch.Delete(table, key)
			return nil
		})
		if err != nil && !errors.Is(err, stream.ErrStopScan) {
			return fmt.Errorf("remove rows of closed segments: %w", err)
		}
	}
	if n == 0 {
		row := q.core.Segment(first)
		m := segmentRecord(&row)
		m.Removed = true
		s.tables.segments.Put(ch, NumberKey(nil, q.name, first), m)
		q.closed = q.closed[1:]
	}
	return nil
}

// removeRefusals removes rows of submissions that were refused before the retention, from the
// lowest number on. Range shows what the Flush before has written.
func (s *Shard) removeRefusals(q *queue, now int64, ch *stream.Changes) error {
	if !q.refused || now-q.cleaned < cleanEvery.Milliseconds() && now >= q.cleaned {
		return nil
	}
	q.cleaned, q.refused = now, len(q.refusals) > 0
	prefix, n := Prefix(nil, q.name), 0
	err := s.Range(TableRefusals, prefix, stream.PrefixEnd(prefix), func(key, value []byte) error {
		q.refused = true
		m := &eventspb.JobRefusal{}
		if err := proto.Unmarshal(value, m); err != nil {
			return err
		}
		if n == maxRemoved || now-m.GetAtMs() < q.retention().Milliseconds() {
			return stream.ErrStopScan
		}
		n++
		ch.Delete(TableRefusals, key)
		return nil
	})
	if err != nil && !errors.Is(err, stream.ErrStopScan) {
		return fmt.Errorf("remove rows of refused submissions: %w", err)
	}
	return nil
}
