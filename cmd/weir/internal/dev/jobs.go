package dev

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/worker"
)

// The demo of job queues: a queue, a submitter, and agents of differing resources.
const (
	demoQueue      = "demo"
	demoJobsEvery  = 200 * time.Millisecond // between two submissions
	demoJobs       = 10                     // of a submission
	demoModels     = 4                      // that jobs on GPUs prefer
	demoJobTime    = 100 * time.Millisecond // mean duration of a job
	demoWaitTarget = 10 * time.Second
	demoAvoid      = 2 * time.Second
	alarmsEvery    = 250 * time.Millisecond // between two looks at the alarms
)

// demoAgents are the agents of the demo, and their resources.
func demoAgents() map[string][]string {
	return map[string][]string{
		"gpu-1": {"gpu", "cpu", "model:1", "model:2"}, "gpu-2": {"gpu", "cpu", "model:3", "model:4"},
		"cpu-1": {"cpu", "disk"}, "cpu-2": {"cpu", "disk"}, "cpu-3": {"cpu"},
	}
}

// demoHas returns the resources of the agents of the demo.
func demoHas() (list []string) {
	for _, has := range demoAgents() {
		list = append(list, has...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// jobDemo is the load of the job queues of weir dev.
type jobDemo struct {
	client *api.Client
	config worker.Config // of the agents, but for their names and resources
	report func(format string, args ...any)

	mu     sync.Mutex
	broken []string  // resources whose jobs fail
	since  time.Time // of the last one
}

// newJobDemo returns the load for the API at a URL.
func (d *dev) newJobDemo(url string) (*jobDemo, error) {
	x, err := node.NewAccess(d.cfg)
	if err != nil {
		return nil, err
	}
	agents := worker.Config{Servers: []string{url}, Token: x.Token, Roots: x.Roots, Queue: demoQueue}
	return &jobDemo{client: x.Client(url), config: agents, report: d.print}, nil
}

// run submits and runs jobs until ctx ends. If the queue cannot be made, it prints why.
func (j *jobDemo) run(ctx context.Context, faults []fault) error {
	defer j.client.Close()
	settings := &jobpb.QueueSettings{
		WaitTargetMs: demoWaitTarget.Milliseconds(), MaxAttempts: 3, AvoidMs: demoAvoid.Milliseconds(),
		RetentionMs: time.Hour.Milliseconds(), Events: true,
	}
	if _, err := j.client.SetQueue(ctx, &jobpb.SetQueueRequest{Queue: demoQueue, Settings: settings}); err != nil {
		if ctx.Err() == nil {
			j.report("  note   there is no demo of job queues: %v", err)
		}
		return nil
	}
	var g sync.WaitGroup
	defer g.Wait()
	var failed []error
	for name, has := range demoAgents() {
		cfg := j.config
		cfg.Agent, cfg.Has, cfg.Slots, cfg.Run, cfg.Grace = name, has, 4, j.job, -1
		w, err := worker.New(cfg)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		g.Go(func() { _ = w.Run(ctx) }) // an error is that of a queue that a user has removed
	}
	g.Go(func() { j.submit(ctx) })
	g.Go(func() { j.watch(ctx) })
	for _, f := range faults {
		if ofJobs(f) {
			g.Go(func() { j.breakResource(ctx, f) })
		}
	}
	return errors.Join(failed...)
}

// job runs a job.
func (j *jobDemo) job(ctx context.Context, x *worker.Job) ([]byte, error) {
	if !pause.For(ctx, time.Duration(rand.ExpFloat64()*float64(demoJobTime))) { //nolint:gosec // a demo
		return nil, ctx.Err()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.broken {
		if slices.Contains(x.Require, r) || slices.Contains(x.Prefer, r) {
			return nil, fmt.Errorf("%s is broken: --fault", r)
		}
	}
	return []byte("done"), nil
}

// submit submits jobs. While the server does not answer, it submits none.
func (j *jobDemo) submit(ctx context.Context) {
	for pause.For(ctx, demoJobsEvery) {
		req := &jobpb.SubmitJobsRequest{Queue: demoQueue}
		for range demoJobs {
			m := &jobpb.NewJob{}
			switch n := rand.IntN(10); { //nolint:gosec // a demo
			case n < 4:
				m.Require, m.Prefer = []string{"gpu"}, []string{fmt.Sprint("model:", 1+rand.IntN(demoModels))} //nolint:gosec // a demo
			case n < 7:
				m.Require = []string{"cpu"}
			case n < 9:
				m.Require = []string{"cpu", "disk"}
			}
			req.Jobs = append(req.Jobs, m)
		}
		_, _ = j.client.SubmitJobs(ctx, req)
	}
}

// watch reports alarms that are raised or over.
func (j *jobDemo) watch(ctx context.Context) {
	known := map[string]string{} // texts
	for pause.For(ctx, alarmsEvery) {
		res, err := j.client.GetSignals(ctx, &jobpb.GetSignalsRequest{Queue: demoQueue})
		if err != nil {
			continue
		}
		now := map[string]string{}
		for _, a := range res.GetAlarms() {
			key := a.GetKind() + " " + a.GetSubject()
			now[key] = a.GetText()
			if _, old := known[key]; old {
				continue
			}
			j.mu.Lock()
			after := ""
			if len(j.broken) > 0 && a.GetKind() == "outage" {
				after = fmt.Sprintf(" (%.1f s after the fault)", time.UnixMilli(a.GetSinceMs()).Sub(j.since).Seconds())
			}
			j.mu.Unlock()
			j.report("alarm: queue %s: %s%s", demoQueue, a.GetText(), after)
		}
		for key, text := range known {
			if _, active := now[key]; !active {
				j.report("alarm: queue %s: over: %s", demoQueue, text)
			}
		}
		known = now
	}
}

// breakResource lets the jobs of a resource fail.
func (j *jobDemo) breakResource(ctx context.Context, f fault) {
	if !pause.For(ctx, f.after) {
		return
	}
	j.mu.Lock()
	j.broken, j.since = append(j.broken, f.name), time.Now()
	j.mu.Unlock()
	j.report("fault: jobs of queue %s that need %s fail", demoQueue, f.name)
	if f.length == 0 || !pause.For(ctx, f.length) {
		return
	}
	j.mu.Lock()
	j.broken = slices.DeleteFunc(j.broken, func(r string) bool { return r == f.name })
	j.mu.Unlock()
	j.report("fault: %s works again", f.name)
}
