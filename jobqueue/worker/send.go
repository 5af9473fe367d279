package worker

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// requestLimit is the time limit of a report, and of a heartbeat.
const requestLimit = 10 * time.Second

// send reports jobs until ctx ends, several in one request.
func (w *Worker) send(ctx context.Context) {
	wait := firstWait
	var batch []*running
	for {
		if len(batch) == 0 {
			wait = firstWait
			select {
			case r := <-w.reports:
				batch = append(batch, r)
			case <-ctx.Done():
				return
			}
		}
		for more := true; more; {
			select {
			case r := <-w.reports:
				batch = append(batch, r)
			default:
				more = false
			}
		}
		before := len(batch)
		if batch = w.report(ctx, batch); len(batch) < before { // all of them, or those of a request
			continue
		}
		w.next()
		if !pause.For(ctx, wait) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

// maxRequest is the size of a request of reports from which on no further one is added, in bytes.
// The server takes 1 MiB.
const maxRequest = 512 << 10

// report reports jobs, and returns those without an answer whose lease has not ended.
func (w *Worker) report(ctx context.Context, batch []*running) (again []*running) {
	req, size := &jobpb.ReportJobsRequest{Queue: w.cfg.Queue, Agent: w.cfg.Agent}, 0
	for i, r := range batch {
		if size >= maxRequest {
			batch, again = batch[:i], append(again, batch[i:]...)
			break
		}
		req.Reports, size = append(req.Reports, r.report), size+proto.Size(r.report)
	}
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	res, err := w.service().ReportJobs(limited, connect.NewRequest(req))
	if err != nil {
		w.cfg.Log.Warn().Str("queue", w.cfg.Queue).Err(err).Msg("worker_report_failed")
	}
	for i, r := range batch {
		code := "unavailable"
		if err == nil && i < len(res.Msg.GetOutcomes()) {
			code = res.Msg.GetOutcomes()[i].GetCode()
		}
		if pending(code) && !r.over.Load() && !w.giveUp.Load() {
			again = append(again, r)
			continue
		}
		w.answer(r, code)
	}
	return again
}

// pending reports whether an outcome is not known yet.
func pending(code string) bool {
	switch code {
	case "unavailable", "canceled", "deadline_exceeded", "resource_exhausted", "unknown", "internal":
		return true
	}
	return false
}

// answer counts the answer to a report.
func (w *Worker) answer(r *running, code string) {
	w.count(func(s *Stats) {
		switch {
		case code != "":
			s.Lost++
		case r.report.GetReturned():
			s.Returned++
		case r.report.GetError() != "":
			s.Failed++
		default:
			s.Done++
		}
	})
	close(r.answered)
}

// heartbeats renews the leases of the jobs until ctx ends: each third of the shortest lease.
func (w *Worker) heartbeats(ctx context.Context) {
	for {
		interval, jobs := w.leases()
		if len(jobs) == 0 {
			select {
			case <-w.begun:
				continue
			case <-ctx.Done():
				return
			}
		}
		if !pause.For(ctx, interval) {
			return
		}
		w.heartbeat(ctx, interval)
	}
}

// leases returns the interval between two heartbeats, and the attempts that have a lease.
func (w *Worker) leases() (interval time.Duration, jobs []*running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		if jobs = append(jobs, r); interval == 0 || r.lease/3 < interval {
			interval = r.lease / 3
		}
	}
	return interval, jobs
}

// heartbeat renews the leases of the jobs, and ends the contexts of those whose attempts are over.
func (w *Worker) heartbeat(ctx context.Context, interval time.Duration) {
	_, jobs := w.leases()
	if len(jobs) == 0 {
		return
	}
	req := &jobpb.HeartbeatJobsRequest{Queue: w.cfg.Queue, Agent: w.cfg.Agent}
	for _, r := range jobs {
		x := &jobpb.JobAttempt{Id: r.ID, Attempt: uint32(r.Attempt)}
		if text := r.progress.Load(); text != nil {
			x.Progress = *text
		}
		req.Jobs = append(req.Jobs, x)
	}
	limited, cancel := context.WithTimeout(ctx, min(requestLimit, interval))
	defer cancel()
	sent := time.Now()
	res, err := w.service().HeartbeatJobs(limited, connect.NewRequest(req))
	if err != nil {
		if ctx.Err() == nil {
			w.cfg.Log.Warn().Str("queue", w.cfg.Queue).Err(err).Msg("worker_heartbeat_failed")
			w.next()
		}
		return
	}
	over := map[string]bool{}
	for _, m := range res.Msg.GetStop() {
		over[(&Job{ID: m.GetId(), Attempt: int(m.GetAttempt())}).Token()] = true
	}
	for _, r := range jobs {
		switch {
		case over[r.Token()] && !r.reported.Load(): // the queue ends an attempt by its report, too
			r.cancel(ErrLost)
		case r.expiry.Stop(): // the lease has not ended before the answer
			r.expiry.Reset(r.lease - time.Since(sent))
		}
	}
}
