package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// Worker runs the jobs of a queue.
type Worker struct {
	cfg      Config
	services []service
	at       atomic.Int32 // index of the service in use

	slots   chan struct{} // has a value for each job that runs
	begun   chan struct{} // has a value after a job has begun
	reports chan *running // jobs that have ended
	jobs    sync.WaitGroup

	giveUp  atomic.Bool // reports without an answer are not repeated
	mu      sync.Mutex
	running map[string]*running // by token
	stats   Stats
}

// Stats are the numbers of a worker since its start.
type Stats struct {
	Started  int
	Done     int
	Failed   int // attempts, of which others may follow
	Returned int
	Lost     int // attempts that were over before their report
}

// running is an attempt that runs, or whose report has no answer yet.
type running struct {
	*Job
	lease    time.Duration
	expiry   *time.Timer // ends the context of the job when the lease has ended
	cancel   context.CancelCauseFunc
	over     atomic.Bool      // the lease has ended
	reported atomic.Bool      // report is set
	report   *jobpb.JobReport // nil: it runs
	answered chan struct{}    // closed when the report has an answer, or the lease has ended
}

// New returns a worker. It does not connect. The error wraps ErrConfig.
func New(cfg Config) (*Worker, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	services, err := cfg.services()
	if err != nil {
		return nil, err
	}
	return &Worker{
		cfg: cfg, services: services, slots: make(chan struct{}, cfg.Slots), begun: make(chan struct{}, 1),
		reports: make(chan *running, cfg.Slots), running: map[string]*running{},
	}, nil
}

// Stats returns the numbers of the worker.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Agent returns the name of the worker.
func (w *Worker) Agent() string { return w.cfg.Agent }

// service returns the client of the server in use.
func (w *Worker) service() service {
	return w.services[int(w.at.Load())%len(w.services)]
}

// next goes to the next server after a failure of the one in use.
func (w *Worker) next() { w.at.Add(1) }

// Run runs jobs until ctx ends, and returns nil then. It returns an error if the queue does not
// exist, or if the worker may not use it. Call it once.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // of the jobs
	defer stop(nil)
	sending, sent := context.WithCancel(work)
	var others sync.WaitGroup
	others.Go(func() { w.heartbeats(sending) })
	others.Go(func() { w.send(sending) })
	err := w.poll(ctx, work)
	w.drain()
	sent()
	others.Wait()
	return err
}

// lastReports is for how long reports are repeated after Config.Grace.
const lastReports = 5 * time.Second

// drain waits for the jobs and their reports.
func (w *Worker) drain() {
	ended := make(chan struct{})
	go func() {
		w.jobs.Wait()
		close(ended)
	}()
	grace := time.NewTimer(max(0, w.cfg.Grace))
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		w.mu.Lock()
		for _, r := range w.running {
			r.cancel(ErrStopping)
		}
		w.mu.Unlock()
		if w.cfg.Grace < 0 {
			w.giveUp.Store(true)
		}
		last := time.AfterFunc(lastReports, func() { w.giveUp.Store(true) })
		defer last.Stop()
		<-ended
	}
}

// Waits between two requests after a failure.
const (
	firstWait = 50 * time.Millisecond
	mostWait  = 5 * time.Second
)

// pollWait is the wait of a long poll.
const pollWait = 30 * time.Second

// poll polls for jobs and starts them until ctx ends.
func (w *Worker) poll(ctx, work context.Context) error {
	for wait := firstWait; ; {
		select {
		case w.slots <- struct{}{}: // at least one is free
			<-w.slots
		case <-ctx.Done():
			return nil
		}
		free := cap(w.slots) - len(w.slots)
		res, err := w.service().PollJobs(ctx, connect.NewRequest(&jobpb.PollJobsRequest{
			Queue: w.cfg.Queue, Agent: w.cfg.Agent, Has: w.cfg.Has, Slots: int32(w.cfg.Slots), MaxJobs: int32(free), Policy: w.cfg.Policy,
			DelayMs: w.cfg.Delay.Milliseconds(), WaitMs: pollWait.Milliseconds(),
		}))
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the worker stops
		case err == nil:
			wait = firstWait
			for _, m := range res.Msg.GetJobs() {
				w.start(work, m)
			}
			continue
		case refused(err):
			return fmt.Errorf("poll queue %q: %w", w.cfg.Queue, err)
		}
		w.cfg.Log.Warn().Str("queue", w.cfg.Queue).Err(err).Msg("worker_poll_failed")
		w.next()
		if !pause.For(ctx, wait) {
			return nil
		}
		wait = min(2*wait, mostWait)
	}
}

// refused reports whether repeating a request would not help.
func refused(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeUnauthenticated, connect.CodePermissionDenied,
		connect.CodeUnimplemented, connect.CodeFailedPrecondition:
		return true
	default:
		return false
	}
}

// start starts a job. The lease is counted from the answer to the poll, less a tenth for the time
// since the decision of the queue.
func (w *Worker) start(work context.Context, m *jobpb.StartedJob) {
	ctx, cancel := context.WithCancelCause(work)
	lease := max(time.Duration(m.GetLeaseMs())*time.Millisecond, time.Millisecond)
	r := &running{Job: newJob(m), lease: lease, cancel: cancel, answered: make(chan struct{})}
	r.expiry = time.AfterFunc(lease-lease/10, func() {
		r.over.Store(true)
		cancel(ErrLost)
	})
	w.slots <- struct{}{}
	w.mu.Lock()
	w.stats.Started++
	w.running[r.Token()] = r
	w.mu.Unlock()
	select {
	case w.begun <- struct{}{}:
	default:
	}
	w.jobs.Go(func() {
		result, err := w.call(ctx, r.Job)
		w.ended(ctx, r, result, err)
	})
}

// call calls Config.Run. A panic is an error.
func (w *Worker) call(ctx context.Context, j *Job) (result []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			w.cfg.Log.Error().Str("job", j.ID).Int("attempt", j.Attempt).Err(err).Msg("worker_job_panicked")
		}
	}()
	return w.cfg.Run(ctx, j)
}

// ended hands over the report of a job, and waits for its answer.
func (w *Worker) ended(ctx context.Context, r *running, result []byte, err error) {
	defer func() {
		r.expiry.Stop()
		w.mu.Lock()
		delete(w.running, r.Token())
		w.mu.Unlock()
		r.cancel(nil)
		<-w.slots
	}()
	if errors.Is(context.Cause(ctx), ErrLost) {
		w.count(func(s *Stats) { s.Lost++ })
		return
	}
	r.report = r.Job.report(result, err, errors.Is(context.Cause(ctx), ErrStopping))
	r.reported.Store(true)
	w.reports <- r
	<-r.answered
}

func (w *Worker) count(fn func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn(&w.stats)
}
