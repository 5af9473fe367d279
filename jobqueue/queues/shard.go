package queues

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// Bounds of the work of one Flush.
const (
	maxTicks   = 10_000 // decisions of a queue whose time has come
	maxRemoved = 2_000  // rows of closed segments
)

// cleanEvery is how often old rows of refused submissions are looked for. maxRemoved of them go at
// a time, which is more than a topic gets for long.
const cleanEvery = time.Second

// quietEvery is how often agents that do not ask are looked for.
const quietEvery = time.Second

// maxQuiet is the time after which a Flush is due in any case.
const maxQuiet = 10 * time.Second

// Shard has the queues of one partition. Its methods are called through processors.Ask.
type Shard struct {
	stream.Task
	alarm  func(*eventspb.JobAlarm)
	tables *tables
	queues map[string]*queue
	sorted []*queue // ascending by name: decisions do not depend on the order of a map
	picked []*Poll  // of the open transaction
	shown  atomic.Pointer[Shown]
	commits
	applied int64 // commits.applied, of the open transaction
	recent  recent

	due  atomic.Int64  // when a Flush is needed, Unix ms
	dues chan struct{} // has a value after due has changed
}

// open makes the task of a partition.
func open(t stream.Task, alarm func(*eventspb.JobAlarm)) (stream.Source, error) {
	s := &Shard{
		Task: t, applied: next(t.Next), alarm: alarm, tables: newTables(), queues: map[string]*queue{}, dues: make(chan struct{}, 1),
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	s.show()
	return s, nil
}

// Read implements stream.Source: it requests a Flush when the time of a decision has come.
func (s *Shard) Read(ctx context.Context, _ *stream.SourceQueue) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.dues:
			timer.Reset(time.Until(time.UnixMilli(s.due.Load())))
		case <-timer.C:
			s.Wake()
		}
	}
}

// add adds a queue.
func (s *Shard) add(q *queue) {
	s.queues[q.name] = q
	at, _ := slices.BinarySearchFunc(s.sorted, q, func(a, b *queue) int { return cmp.Compare(a.name, b.name) })
	s.sorted = slices.Insert(s.sorted, at, q)
}

// Flush implements stream.Handler.
func (s *Shard) Flush(c stream.Commit, ch *stream.Changes) error {
	s.applied = next(c.Next)
	now := time.Now().UnixMilli()
	due := now + maxQuiet.Milliseconds()
	for _, q := range s.sorted {
		at, err := s.tick(q, now)
		if err != nil {
			return err
		}
		due = min(due, at)
		if err := s.writeEvents(q, ch); err != nil {
			return err
		}
		if err := s.write(q, now, ch); err != nil {
			return err
		}
		if err := s.writeAlarms(q, now, ch); err != nil {
			return err
		}
	}
	s.due.Store(due)
	select {
	case s.dues <- struct{}{}:
	default:
	}
	return nil
}

// next returns the offset of the next record of jobs.submits, the only input.
func next(offsets map[string]int64) (next int64) {
	for _, n := range offsets {
		next = n
	}
	return next
}

// tick makes the decisions of a queue whose time has come, and returns when the next one is due.
func (s *Shard) tick(q *queue, now int64) (due int64, err error) {
	ds, err := q.core.Tick(nil, now, maxTicks)
	if err != nil {
		return 0, err
	}
	if len(ds) > 0 {
		q.work = true
		q.note(ds, now)
	}
	if err := s.dropQuiet(q, now); err != nil {
		return 0, err
	}
	if err := q.evict(now); err != nil {
		return 0, err
	}
	due = s.serve(q, now)
	if now-q.sampled >= sampleEvery.Milliseconds() || now < q.sampled {
		q.sampled = now
		s := q.core.Sample(now)
		q.watch(&s)
	}
	if n := q.core.Counts(); n[jobqueue.Pending]+n[jobqueue.Running] > 0 {
		due = min(due, q.sampled+sampleEvery.Milliseconds())
	}
	if at, ok := q.core.Next(); ok {
		due = min(due, at)
	}
	if len(q.closed) > 0 {
		due = now
	}
	return due, nil
}

// note remembers when jobs ended, by segment.
func (q *queue) note(ds []jobqueue.Decision, now int64) {
	for i := range ds {
		switch ds[i].Kind {
		case jobqueue.Completed, jobqueue.Exhausted, jobqueue.CanceledBy:
			q.ended[ds[i].ID-ds[i].ID%jobqueue.SegmentSize] = now
		default:
		}
	}
}

// evict lets the queue forget jobs that ended before the retention: the segments from the first one
// on in which all jobs have.
func (q *queue) evict(now int64) error {
	before := q.core.Evictable(func(first jobqueue.ID) bool {
		at, ok := q.ended[first]
		if !ok { // before this process had the partition
			q.ended[first] = now
			return false
		}
		return now-at >= q.retention().Milliseconds()
	})
	if before == 0 {
		return nil
	}
	_, err := q.core.Evict(now, before)
	return err
}

// dropQuiet takes agents down that have not asked for two leases. An agent whose poll is parked is
// there.
func (s *Shard) dropQuiet(q *queue, now int64) error {
	if now-q.looked < quietEvery.Milliseconds() && now >= q.looked {
		return nil
	}
	q.looked = now
	q.shown.progress.drop(func(id jobqueue.ID) bool { return q.core.State(id) == jobqueue.Running })
	for _, p := range q.parked {
		if p.waits() {
			q.see(p.Agent, now)
		}
	}
	var quiet []string
	for name, a := range q.agents {
		if now-a.asked > 2*q.lease().Milliseconds() {
			quiet = append(quiet, name)
		}
	}
	slices.Sort(quiet)
	for _, name := range quiet {
		delete(q.agents, name)
		ds, err := q.core.Down(nil, now, name)
		if err != nil {
			return err
		}
		q.work = true
		q.note(ds, now)
	}
	return nil
}

// Committed implements stream.CommitListener: the starts of jobs are durable, so the agents get
// them.
func (s *Shard) Committed(uint64) {
	s.show()
	for _, p := range s.picked {
		jobs, err := s.read(p)
		p.reply(Answer{Jobs: jobs, Err: err})
	}
	clear(s.picked)
	s.picked = s.picked[:0]
}

// Close implements stream.Closer: agents poll again, at the owner of the partition. What was picked
// and not committed has not happened.
func (s *Shard) Close() {
	defer s.commits.end()
	for _, p := range s.picked {
		p.end()
	}
	for _, q := range s.queues {
		for _, p := range q.parked {
			p.end()
		}
	}
}
