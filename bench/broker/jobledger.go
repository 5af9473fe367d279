package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/jobqueue"
)

// jobLedger is what submitters and agents know of the jobs. It is safe for concurrent use.
type jobLedger struct {
	mu        sync.Mutex
	submitted jobSet
	done      jobSet
}

// submit notes jobs that were submitted. It returns an error if one has the id of another.
func (l *jobLedger) submit(ids []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.submitted.add(ids); err != nil {
		return fmt.Errorf("a submit: %w", err)
	}
	return nil
}

// finish notes jobs that are done. It returns an error if one was done before.
func (l *jobLedger) finish(ids []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.done.add(ids); err != nil {
		return fmt.Errorf("a report: %w", err)
	}
	return nil
}

// count returns the number of jobs that are done.
func (l *jobLedger) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done.n
}

// drained reports whether as many jobs are done as were submitted.
func (l *jobLedger) drained() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done.n >= l.submitted.n
}

// check returns an error unless the jobs that are done are those that were submitted.
func (l *jobLedger) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok := l.submitted.without(&l.done); ok {
		return fmt.Errorf("%d jobs were submitted and %d are done: job %s is not", l.submitted.n, l.done.n, id)
	}
	if id, ok := l.done.without(&l.submitted); ok {
		return fmt.Errorf("job %s is done, and no submitter has it", id)
	}
	if l.done.n == 0 {
		return errors.New("no job was submitted")
	}
	return nil
}

// sample returns the ids of n jobs that are done, any of them several times.
func (l *jobLedger) sample(n int) ([]string, error) {
	l.mu.Lock()
	list := l.done.sample(n)
	l.mu.Unlock()
	if len(list) == 0 {
		return nil, errors.New("no job is done: use a longer duration")
	}
	ids := make([]string, n)
	for i, id := range list {
		ids[i] = id.String()
	}
	return ids, nil
}

// stretch is the part of a measurement whose slowest one is a figure of its own.
const stretch = 10 * time.Second

// rate returns the jobs per second that are done in the next d, and in the slowest stretch of it.
func (l *jobLedger) rate(ctx context.Context, d time.Duration) (all, slowest float64, err error) {
	parts := max(1, int(d/stretch))
	begun, base := time.Now(), l.count()
	slowest = math.Inf(1)
	for range parts {
		at, from := time.Now(), l.count()
		if err := pass(ctx, d/time.Duration(parts)); err != nil {
			return 0, 0, err
		}
		slowest = min(slowest, float64(l.count()-from)/time.Since(at).Seconds())
	}
	return float64(l.count()-base) / time.Since(begun).Seconds(), slowest, nil
}

// jobSet is a set of jobs: a bit for each number, by partition.
type jobSet struct {
	bits map[int32][]uint64
	n    int64
}

// add adds jobs. It returns an error if the set has one of them.
func (s *jobSet) add(ids []string) error {
	if s.bits == nil {
		s.bits = map[int32][]uint64{}
	}
	for _, text := range ids {
		id, err := api.ParseJobID(text)
		if err != nil {
			return err
		}
		words, at, bit := s.bits[id.Partition], int(id.Number/64), uint64(1)<<(id.Number%64)
		if at >= len(words) {
			words = append(words, make([]uint64, at+1-len(words))...)
			s.bits[id.Partition] = words
		}
		if words[at]&bit != 0 {
			return fmt.Errorf("job %s appears twice", id)
		}
		words[at] |= bit
		s.n++
	}
	return nil
}

// has reports whether the set has a job.
func (s *jobSet) has(id api.JobID) bool {
	words := s.bits[id.Partition]
	at := int(id.Number / 64)
	return at < len(words) && words[at]&(1<<(id.Number%64)) != 0
}

// without returns a job of the set that other does not have, and whether there is one.
func (s *jobSet) without(other *jobSet) (id api.JobID, ok bool) {
	for p, words := range s.bits {
		for i := range 64 * len(words) {
			if id := (api.JobID{Partition: p, Number: jobqueue.ID(i)}); s.has(id) && !other.has(id) {
				return id, true
			}
		}
	}
	return id, false
}

// sample returns n jobs of the set at random, none if it is empty.
func (s *jobSet) sample(n int) (list []api.JobID) {
	var partitions []int32
	for p := range s.bits {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	for s.n > 0 && len(list) < n {
		p := partitions[rand.IntN(len(partitions))]                                        //nolint:gosec // it chooses jobs
		id := api.JobID{Partition: p, Number: jobqueue.ID(rand.IntN(64 * len(s.bits[p])))} //nolint:gosec // the same
		if s.has(id) {
			list = append(list, id)
		}
	}
	return list
}
