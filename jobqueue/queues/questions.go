package queues

import (
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// Select returns the numbers of jobs of a queue: see jobqueue.Queue.Select. They include decisions
// that have not committed yet.
func (s *Shard) Select(name string, sel *jobqueue.Selector) ([]jobqueue.ID, error) {
	q, err := s.queue(name)
	if err != nil {
		return nil, err
	}
	return q.core.Select(sel), nil
}

// Count returns the number of jobs of a queue that a selector selects.
func (s *Shard) Count(name string, sel *jobqueue.Selector) (int, error) {
	q, err := s.queue(name)
	if err != nil {
		return 0, err
	}
	return q.core.Count(sel), nil
}

// Why returns why a job is not running, by the decisions that were made.
func (s *Shard) Why(name string, id jobqueue.ID) (jobqueue.Why, error) {
	q, err := s.queue(name)
	if err != nil {
		return jobqueue.Why{}, err
	}
	return q.core.Why(time.Now().UnixMilli(), id)
}
