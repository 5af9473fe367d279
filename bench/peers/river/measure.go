package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"
)

// backlog is the number of jobs that are inserted and not completed, at most.
const backlog = 20_000

// lifeCycles returns the jobs per second that are completed while submitters insert as many.
func (s *settings) lifeCycles(ctx context.Context) (perSecond float64, err error) {
	q, err := newQueue(ctx, s, func(int64) {})
	if err != nil {
		return 0, err
	}
	submit, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	for range s.submitters {
		g.Go(func() error {
			defer stop()
			jobs := make([]river.InsertManyParams, s.batch)
			for i := range jobs {
				jobs[i] = s.job(0)
			}
			for submit.Err() == nil {
				if q.inserted.Load()-q.completed.Load() > backlog {
					pause(submit, time.Millisecond)
					continue
				}
				if err := q.insert(ctx, jobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	pause(submit, s.duration/3)
	begun, from := time.Now(), q.completed.Load()
	if !pause(submit, s.duration) {
		err = errors.New("the submitters ended early")
	}
	perSecond = float64(q.completed.Load()-from) / time.Since(begun).Seconds()
	stop()
	return perSecond, errors.Join(err, g.Wait(), q.close(ctx))
}

// clockSubmitters is the number of inserts of a schedule at a time, at most.
const clockSubmitters = 32

// latency returns the time from the scheduled insert of a job until its work begins.
func (s *settings) latency(ctx context.Context) (p50, p99 float64, err error) {
	var mu sync.Mutex
	var took []time.Duration
	q, err := newQueue(ctx, s, func(at int64) {
		now := time.Now().UnixNano()
		mu.Lock()
		defer mu.Unlock()
		if at != 0 {
			took = append(took, time.Duration(now-at))
		}
	})
	if err != nil {
		return 0, 0, err
	}
	due := make(chan int64, s.rate)
	g, inserting := errgroup.WithContext(ctx)
	for range clockSubmitters {
		g.Go(func() error { return s.insertDue(inserting, q, due) })
	}
	g.Go(func() error {
		defer close(due)
		return s.schedule(inserting, due)
	})
	if err := errors.Join(g.Wait(), q.close(ctx)); err != nil {
		return 0, 0, err
	}
	if len(took) == 0 {
		return 0, 0, errors.New("no job was timed: use a longer duration")
	}
	slices.Sort(took)
	at := func(percent int) float64 { return took[len(took)*percent/100].Seconds() * 1000 }
	return at(50), at(99), nil
}

// schedule lets jobs become due at the rate. The first quarter of them is not timed.
func (s *settings) schedule(ctx context.Context, due chan<- int64) error {
	begun := time.Now()
	for at := time.Duration(0); at < s.duration*4/3; at += time.Second / time.Duration(s.rate) {
		if wait := at - time.Since(begun); wait > 0 && !pause(ctx, wait) {
			return ctx.Err()
		}
		planned := begun.Add(at).UnixNano()
		if at < s.duration/3 {
			planned = 0
		}
		select {
		case due <- planned:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// insertDue inserts the jobs that are due: one at a time, or several if they have waited.
func (s *settings) insertDue(ctx context.Context, q *queue, due <-chan int64) error {
	for at := range due {
		jobs := []river.InsertManyParams{s.job(at)}
		for more := true; more && len(jobs) < s.batch; {
			select {
			case at, open := <-due:
				if more = open; open {
					jobs = append(jobs, s.job(at))
				}
			default:
				more = false
			}
		}
		if err := q.insert(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}
