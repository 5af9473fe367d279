package jobqueue

import (
	"fmt"
	"math"
	"slices"
)

// Submit submits a job. Its id must be greater than those of all jobs before. If a job with the
// same key exists, the decision is Nothing, with the id of that job.
func (q *Queue) Submit(nowMs int64, id ID, s *Spec) (Decision, error) {
	if s.Key != "" {
		if first, ok := q.keys[s.Key]; ok {
			if first.hash != Fingerprint(s) {
				return Decision{}, fmt.Errorf("%w: %q, job %d: use another key", ErrKeyReused, s.Key, first.id)
			}
			return Decision{At: q.at(nowMs), ID: first.id}, nil
		}
	}
	d, err := q.apply(Decision{Kind: Submitted, At: q.at(nowMs), ID: id, Spec: s})
	return d, q.refuse(err)
}

// Complete reports that an attempt succeeded. Repeated, it changes nothing.
func (q *Queue) Complete(nowMs int64, agent string, id ID, attempt uint8) (Decision, error) {
	return q.decide(request{id, Complete, agent, attempt}, func() Decision {
		return Decision{Kind: Completed, At: q.at(nowMs), ID: id, Attempt: attempt}
	})
}

// Fail reports that an attempt failed. The job is tried again after a backoff, if it has a try
// left. Repeated before that, it is ErrStale: the attempt is over.
func (q *Queue) Fail(nowMs int64, agent string, id ID, attempt uint8) (Decision, error) {
	return q.decide(request{id, Retry, agent, attempt}, func() Decision {
		return q.ended(q.at(nowMs), id, Reported)
	})
}

// FailForGood reports that an attempt failed and that no other attempt would succeed.
func (q *Queue) FailForGood(nowMs int64, agent string, id ID, attempt uint8) (Decision, error) {
	return q.decide(request{id, Fail, agent, attempt}, func() Decision {
		return Decision{Kind: Exhausted, At: q.at(nowMs), ID: id, Attempt: attempt}
	})
}

// Return returns a job without a result. The attempt is not charged as a try, and the job becomes
// pending at its old place. The agent does not get it again for a time.
func (q *Queue) Return(nowMs int64, agent string, id ID, attempt uint8) (Decision, error) {
	return q.decide(request{id, Return, agent, attempt}, func() Decision {
		return q.returned(q.at(nowMs), id, Reported)
	})
}

// Release takes back the start of a job of which its agent has not learnt: as Return, but the agent
// may get the job again at once.
func (q *Queue) Release(nowMs int64, agent string, id ID, attempt uint8) (Decision, error) {
	return q.decide(request{id, Return, agent, attempt}, func() Decision {
		return q.returned(q.at(nowMs), id, Pullback)
	})
}

// Cancel cancels a job that has not succeeded. Its agent learns of it by its next heartbeat.
func (q *Queue) Cancel(nowMs int64, id ID) (Decision, error) {
	return q.decide(request{id: id, event: Cancel}, func() Decision {
		return Decision{Kind: CanceledBy, At: q.at(nowMs), ID: id}
	})
}

// Redo makes a job that has ended pending again, with as many tries as a new job. It does not wait
// for the jobs that it waited for.
func (q *Queue) Redo(nowMs int64, id ID) (Decision, error) {
	return q.decide(request{id: id, event: Redo}, func() Decision {
		return Decision{Kind: Redone, At: q.at(nowMs), ID: id}
	})
}

// ended returns the decision on a running job whose attempt ended without success.
func (q *Queue) ended(at int64, id ID, why Reason) Decision {
	r := q.runs[id]
	d := Decision{Kind: Exhausted, At: at, ID: id, Attempt: r.attempt, Reason: why}
	try := int(r.attempt) - int(q.spared[id])
	if try < q.cfg.MaxAttempts && r.attempt < math.MaxUint8 {
		d.Kind = Retried
		d.Until = at + q.cfg.backoff(id, r.attempt, try)
		d.Avoid = q.cfg.Blacklist > 0 && why != AgentLost
	}
	return d
}

// returned returns the decision on a running job that is returned.
func (q *Queue) returned(at int64, id ID, why Reason) Decision {
	r := q.runs[id]
	if r.attempt == math.MaxUint8 {
		return Decision{Kind: Exhausted, At: at, ID: id, Attempt: r.attempt, Reason: why}
	}
	return Decision{Kind: Returned, At: at, ID: id, Attempt: r.attempt, Reason: why, Avoid: why == Reported && q.cfg.Blacklist > 0}
}

// Held is a job that an agent has, or believes to have.
type Held struct {
	ID      ID
	Attempt uint8
}

// Heartbeat renews the leases of jobs that an agent has. It appends the renewals to dst and returns
// the jobs that the agent does not have any more and must stop.
func (q *Queue) Heartbeat(dst []Decision, nowMs int64, agent string, jobs []Held) (renewed []Decision, stop []Held) {
	for _, h := range jobs {
		if changes, _ := q.permit(request{h.ID, Complete, agent, h.Attempt}); !changes {
			stop = append(stop, h)
			continue
		}
		at := q.at(nowMs)
		d, err := q.apply(Decision{Kind: Renewed, At: at, ID: h.ID, Attempt: h.Attempt, Until: at + q.cfg.Lease.Milliseconds()})
		if err == nil {
			dst = append(dst, d)
		}
	}
	return dst, stop
}

// Tick makes the decisions whose time has come, at most limit of them: leases that ended, and jobs
// that are due. It appends them to dst. If it appended limit decisions, call it again.
func (q *Queue) Tick(dst []Decision, nowMs int64, limit int) ([]Decision, error) {
	at := q.at(nowMs)
	for n := 0; n < limit && len(q.timers) > 0 && q.timers[0].at <= at; {
		t := q.timers.pop()
		r, running := q.runs[t.id]
		when, delayed := q.due[t.id]
		var d Decision
		switch {
		case running && r.timer == t.at && r.until != t.at: // it was renewed
			r.timer = r.until
			q.runs[t.id] = r
			q.timers.push(timer{r.until, t.id})
			continue
		case running && r.timer == t.at:
			d = q.ended(at, t.id, Expired)
		case delayed && when == t.at:
			d = Decision{Kind: BecameDue, At: at, ID: t.id}
		default: // a timer of an earlier state
			continue
		}
		if _, err := q.apply(d); err != nil {
			return dst, err
		}
		dst = append(dst, d)
		n++
	}
	return dst, nil
}

// Declare declares an agent, or changes its profile. It keeps the jobs and associations that the
// agent has.
func (q *Queue) Declare(nowMs int64, agent string, p *Profile) (Decision, error) {
	return q.apply(Decision{Kind: AgentUp, At: q.at(nowMs), Agent: agent, Profile: p})
}

// Down removes an agent with its associations. Its attempts have failed. It appends the decisions
// to dst.
func (q *Queue) Down(dst []Decision, nowMs int64, agent string) ([]Decision, error) {
	n, ok := q.byName[agent]
	if !ok {
		return dst, fmt.Errorf("agent %q: %w", agent, ErrAgent)
	}
	for _, id := range q.running(func(r run) bool { return r.agent == n }) {
		d, err := q.apply(q.ended(q.at(nowMs), id, AgentLost))
		if err != nil {
			return dst, err
		}
		dst = append(dst, d)
	}
	d, err := q.apply(Decision{Kind: AgentDown, At: q.at(nowMs), Agent: agent})
	return append(dst, d), err
}

// running returns the running jobs for which ok returns true, in ascending order.
func (q *Queue) running(ok func(run) bool) (ids []ID) {
	for id, r := range q.runs {
		if ok(r) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Pause stops the start of jobs. With pullback, the queue takes the running jobs from their agents:
// they become pending, and their attempts are not charged. It appends the decisions to dst.
func (q *Queue) Pause(dst []Decision, nowMs int64, pullback bool) ([]Decision, error) {
	at := q.at(nowMs)
	if !q.paused {
		d, err := q.apply(Decision{Kind: Paused, At: at})
		if err != nil {
			return dst, err
		}
		dst = append(dst, d)
	}
	if !pullback {
		return dst, nil
	}
	for _, id := range q.running(func(run) bool { return true }) {
		d, err := q.apply(q.returned(at, id, Pullback))
		if err != nil {
			return dst, err
		}
		dst = append(dst, d)
	}
	return dst, nil
}

// Resume ends a pause. Without a pause, the decision is Nothing.
func (q *Queue) Resume(nowMs int64) (Decision, error) {
	if !q.paused {
		return Decision{}, nil
	}
	return q.apply(Decision{Kind: Resumed, At: q.at(nowMs)})
}

// Evict forgets all of ended jobs with ids below before, except their states. It works on whole
// segments of 65,536 ids: a job stays until all jobs of its segment have ended, and no Blocked job
// waits for a job of the segment.
func (q *Queue) Evict(nowMs int64, before ID) (Decision, error) {
	before -= before % segmentSize
	if before <= q.gone {
		return Decision{}, nil
	}
	return q.apply(Decision{Kind: Evicted, At: q.at(nowMs), ID: before})
}
