package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// args are the arguments of a job.
type args struct {
	At      int64  `json:"at"` // time in the schedule of the latency, Unix ns; 0: not timed
	Payload []byte `json:"payload"`
}

// Kind implements river.JobArgs.
func (args) Kind() string { return "bench" }

// worker has nothing to do.
type worker struct {
	river.WorkerDefaults[args]
	started func(at int64)
}

// Work implements river.Worker.
func (w *worker) Work(_ context.Context, j *river.Job[args]) error {
	w.started(j.Args.At)
	return nil
}

// queue is an empty table of jobs with a client of River that works on it.
type queue struct {
	settings  *settings
	pool      *pgxpool.Pool
	client    *river.Client[pgx.Tx]
	inserted  atomic.Int64
	completed atomic.Int64
	counted   chan struct{} // closed when no more completions are counted
	cancel    func()
}

// workers, fetchPause and fetchPoll are those of River's own benchmark.
const (
	workers    = 2000
	fetchPause = 2 * time.Millisecond
	fetchPoll  = 20 * time.Millisecond

	connections = 20
)

// newQueue deletes all jobs, and starts a client whose worker calls started. Close it.
func newQueue(ctx context.Context, s *settings, started func(at int64)) (q *queue, err error) {
	cfg, err := pgxpool.ParseConfig(s.database)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = connections
	if s.async {
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}
	q = &queue{settings: s, counted: make(chan struct{})}
	if q.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			q.pool.Close()
		}
	}()
	driver := riverpgxv5.New(q.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("make the tables of River: %w", err)
	}
	for _, sql := range []string{"TRUNCATE river_job", "VACUUM FULL river_job"} {
		if _, err := q.pool.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	kinds := river.NewWorkers()
	river.AddWorker(kinds, &worker{started: started})
	q.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown: fetchPause, FetchPollInterval: fetchPoll, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}, Workers: kinds,
	})
	if err != nil {
		return nil, err
	}
	events, cancel := q.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 1 << 20, Kinds: []river.EventKind{river.EventKindJobCompleted},
	})
	q.cancel = cancel
	go func() {
		defer close(q.counted)
		for range events {
			q.completed.Add(1)
		}
	}()
	return q, q.client.Start(ctx)
}

// insert inserts jobs.
func (q *queue) insert(ctx context.Context, list []river.InsertManyParams) error {
	if _, err := q.client.InsertManyFast(ctx, list); err != nil {
		return err
	}
	q.inserted.Add(int64(len(list)))
	return nil
}

// job returns a job with a payload of random bytes.
func (s *settings) job(at int64) river.InsertManyParams {
	payload := make([]byte, s.payload)
	_, _ = rand.Read(payload) // never fails
	return river.InsertManyParams{Args: args{at, payload}}
}

// close waits until all jobs are completed, for a minute at most, and stops the client. It returns
// an error unless the rows of the table say the same.
func (q *queue) close(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for q.completed.Load() < q.inserted.Load() && pause(limited, 20*time.Millisecond) {
	}
	err := q.client.Stop(ctx)
	q.cancel()
	<-q.counted
	var rows, done int64
	sql := "SELECT count(*), count(*) FILTER (WHERE state = 'completed' AND attempt = 1) FROM river_job"
	err = errors.Join(err, q.pool.QueryRow(ctx, sql).Scan(&rows, &done))
	q.pool.Close()
	if n := q.inserted.Load(); err == nil && (rows != n || done != n || q.completed.Load() != n) {
		err = fmt.Errorf("%d jobs were inserted, the table has %d, %d are completed, and %d were reported", n, rows, done,
			q.completed.Load())
	}
	return err
}

// pause waits for d. It returns false when ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
