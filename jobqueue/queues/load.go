package queues

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// load restores the queues from the committed state.
func (s *Shard) load() error {
	return s.tables.settings.Scan(s.Range, func(key []byte, m *eventspb.JobQueueSettings) error {
		name := string(key[:len(key)-1])
		q, err := s.restore(name, m)
		if err != nil {
			return fmt.Errorf("queue %q: %w", name, err)
		}
		s.add(q)
		return nil
	})
}

// restore restores a queue.
func (s *Shard) restore(name string, settings *eventspb.JobQueueSettings) (*queue, error) {
	cfg, err := coreConfig(settings)
	if err != nil {
		return nil, err
	}
	q := newQueue(name, settings)
	rows, err := s.snapshot(q)
	if err != nil {
		return nil, err
	}
	jobs := func(add func(*jobqueue.JobRow) error) error { return s.jobs(q, rows, add) }
	if q.core, err = jobqueue.RestoreJobs(cfg, rows, jobs); err != nil {
		return nil, err
	}
	q.begin()
	now := time.Now().UnixMilli()
	prefix := Prefix(nil, name)
	scan := func(table byte, fn func(key, value []byte) error) error {
		return s.Range(table, prefix, stream.PrefixEnd(prefix), fn)
	}
	err = scanRows(scan, TableAlarms, func(_ []byte, m *eventspb.JobAlarm) error {
		q.moved = append(q.moved, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows.Agents {
		q.agents[rows.Agents[i].Name] = &agent{asked: now}
	}
	return q, nil
}

// snapshot reads the rows of a queue.
func (s *Shard) snapshot(q *queue) (*jobqueue.Snapshot, error) {
	rows := &jobqueue.Snapshot{}
	prefix, t := Prefix(nil, q.name), s.tables
	if m, ok, err := t.queues.Get(s.Get, prefix); err != nil {
		return nil, err
	} else if ok {
		rows.Now, rows.Paused, rows.Filled = m.GetNowMs(), m.GetPaused(), m.GetFilled()
		rows.Last, rows.Gone = jobqueue.ID(m.GetLast()), jobqueue.ID(m.GetEvictedBelow())
	}
	end := stream.PrefixEnd(prefix)
	scan := func(table byte, fn func(key, value []byte) error) error { return s.Range(table, prefix, end, fn) }
	err := scan(TableNames, func(key, _ []byte) error {
		rows.Names = append(rows.Names, string(key[len(prefix):]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = scanRows(scan, TableAgents, func(key []byte, m *eventspb.JobAgent) error {
		rows.Agents = append(rows.Agents, agentRow(string(key[len(prefix):]), m))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = scanRows(scan, TableMeans, func(_ []byte, m *eventspb.JobMean) error {
		rows.Means = append(rows.Means, jobqueue.MeanRow{Require: m.GetRequire(), Prefer: m.GetPrefer(), Ms: m.GetMs()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = scanRows(scan, TableSegments, func(key []byte, m *eventspb.JobSegment) error {
		_, first, err := ParseNumberKey(key)
		if err != nil {
			return err
		}
		row, err := segmentRow(first, m)
		if row.Closed && !m.GetRemoved() {
			q.closed = append(q.closed, first)
		}
		rows.Segments = append(rows.Segments, row)
		return err
	})
	return rows, err
}

// segmentsAhead is the number of segments whose jobs are in memory while a queue is restored: one
// is added while the next one is read.
const segmentsAhead = 2

// jobs calls add for the jobs in open segments. A goroutine reads one segment after the other, and
// it is the only one that reads.
func (s *Shard) jobs(q *queue, rows *jobqueue.Snapshot, add func(*jobqueue.JobRow) error) error {
	r := jobReader{shard: s, queue: q.name, specs: map[string]*jobqueue.Spec{}}
	lists, free := make(chan []jobqueue.JobRow), make(chan []jobqueue.JobRow, segmentsAhead)
	for range segmentsAhead {
		free <- nil
	}
	var failed error
	go func() {
		defer close(lists)
		failed = r.open(rows.Segments, free, lists)
	}()
	var err error
	for list := range lists {
		for i := 0; i < len(list) && err == nil; i++ {
			err = add(&list[i])
		}
		if err != nil {
			close(free) // ends the reader
			break
		}
		free <- list
	}
	for range lists { // until the reader has ended
	}
	return errors.Join(err, failed)
}

// scanRows calls fn for the messages of a table.
func scanRows[M any, P interface {
	*M
	proto.Message
}](scan func(byte, func(key, value []byte) error) error, table byte, fn func(key []byte, m P) error) error {
	return scan(table, func(key, value []byte) error {
		m := P(new(M))
		if err := proto.Unmarshal(value, m); err != nil {
			return fmt.Errorf("table %d: %w", table, err)
		}
		return fn(key, m)
	})
}
