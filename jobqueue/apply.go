package jobqueue

import (
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Apply changes the queue by a decision. Nothing else changes it: the methods that decide call
// Apply, and a replay of their decisions on a queue with the same settings gives the same state. A
// decision that the state does not permit is an error, and changes nothing.
func (q *Queue) Apply(d *Decision) error {
	if err := q.check(d); err != nil {
		return err
	}
	if d.Kind == Nothing { // not even the time, as a log need not have it
		return nil
	}
	q.now = q.at(d.At)
	q.record(d)
	q.changed.decision(d)
	switch d.Kind {
	case Submitted:
		q.submit(d.ID, d.Spec)
	case Started:
		q.start(d)
	case Renewed:
		r := q.runs[d.ID]
		r.until = d.Until
		q.runs[d.ID] = r
	case Completed:
		sig, _ := q.class(d.ID)
		q.sigs.learn(sig, q.now-q.stop(d).started)
		q.changed.mean(sig)
		q.end(d.ID, Running, Done)
		q.release(d.ID)
	case Retried:
		r := q.stop(d)
		q.avoid(r.agent, d)
		q.wait(d.ID, Running, d.Until)
	case Exhausted:
		q.stop(d)
		q.end(d.ID, Running, Failed)
	case Returned:
		r := q.stop(d)
		q.avoid(r.agent, d)
		q.spared[d.ID]++
		q.wait(d.ID, Running, 0)
	case CanceledBy:
		q.cancel(d)
	case Redone:
		if n := q.attempt(d.ID); n > 0 {
			q.spared[d.ID] = n
		}
		q.wait(d.ID, q.matrix.state(d.ID), 0)
	case BecameDue:
		delete(q.due, d.ID)
		q.wait(d.ID, Delayed, 0)
	case AgentUp:
		q.declare(d.Agent, d.Profile)
	case AgentDown:
		n := q.byName[d.Agent]
		q.changed.agent(d.Agent)
		q.agents[n].leave(q.sigs)
		q.agents[n] = nil
		delete(q.byName, d.Agent)
	case Paused, Resumed:
		q.paused = d.Kind == Paused
	case Evicted:
		q.evict(d.ID)
	default:
	}
	return nil
}

// check returns an error if the state does not permit d.
func (q *Queue) check(d *Decision) error {
	e, ok := d.Kind.event()
	if ok {
		r := request{id: d.ID, event: e, attempt: d.Attempt}
		changes, err := q.permit(r)
		if err != nil {
			return err
		}
		if !changes {
			return &Error{d.ID, q.matrix.state(d.ID), e, d.Attempt, q.attempt(d.ID), ErrIllegal}
		}
	}
	n, up := q.byName[d.Agent]
	switch d.Kind {
	case Submitted:
		return q.checkSubmit(d)
	case Started:
		switch {
		case !up:
			return fmt.Errorf("start of job %d by agent %q: %w", d.ID, d.Agent, ErrAgent)
		case q.paused || q.attempt(d.ID) == math.MaxUint8 || d.Attempt != q.attempt(d.ID)+1:
			return &Error{d.ID, Pending, Start, d.Attempt, q.attempt(d.ID), ErrIllegal}
		}
	case Renewed:
		_, err := q.permit(request{id: d.ID, event: Complete, attempt: d.Attempt})
		if err == nil && q.matrix.state(d.ID) != Running {
			err = &Error{d.ID, q.matrix.state(d.ID), Complete, d.Attempt, d.Attempt, ErrStale}
		}
		return err
	case Retried, Returned, Redone: // another attempt follows
		if q.attempt(d.ID) == math.MaxUint8 {
			return &Error{d.ID, q.matrix.state(d.ID), e, d.Attempt, math.MaxUint8, ErrAttempts}
		}
	case BecameDue:
		if s := q.matrix.state(d.ID); s != Delayed {
			return &Error{d.ID, s, Due, 0, q.attempt(d.ID), ErrIllegal}
		}
	case AgentUp:
		return q.checkAgent(d)
	case AgentDown:
		if !up || q.agents[n].running > 0 {
			return fmt.Errorf("agent %q is down: %w", d.Agent, ErrAgent)
		}
	case Evicted:
		if d.ID%segmentSize != 0 || !q.filled || d.ID > q.last+1 {
			return fmt.Errorf("%w eviction of jobs below %d: the last job is %d", ErrInvalid, d.ID, q.last)
		}
	default:
		if d.Kind >= kinds {
			return fmt.Errorf("%w kind of decision %d", ErrInvalid, d.Kind)
		}
	}
	return nil
}

func (q *Queue) checkSubmit(d *Decision) error {
	if d.Spec == nil {
		return fmt.Errorf("submission of job %d: %w decision: no specification", d.ID, ErrInvalid)
	}
	if q.filled && (d.ID <= q.last || d.ID-q.last >= maxStep) {
		return fmt.Errorf("submission of job %d after job %d: %w", d.ID, q.last, ErrOrder)
	}
	if err := d.Spec.Validate(); err != nil {
		return fmt.Errorf("submission of job %d: %w", d.ID, err)
	}
	for _, id := range d.Spec.After {
		switch s := q.matrix.state(id); {
		case s == None:
			return fmt.Errorf("submission of job %d: it waits for job %d: %w", d.ID, id, ErrUnknown)
		case s.Terminal() && s != Done && id < q.gone:
			return fmt.Errorf("submission of job %d: it waits for job %d, which is %s: %w", d.ID, id, s, ErrEvicted)
		}
	}
	if err := q.sigs.room(d.Spec.Require, d.Spec.Prefer); err != nil {
		return fmt.Errorf("submission of job %d: %w", d.ID, err)
	}
	return nil
}

func (q *Queue) checkAgent(d *Decision) error {
	if d.Profile == nil || d.Agent == "" || len(d.Agent) > maxName {
		return fmt.Errorf("%w declaration of agent %.20q: it needs a profile, and a name of 1 to %d bytes", ErrInvalid, d.Agent, maxName)
	}
	err := d.Profile.validate()
	if err == nil {
		err = q.sigs.room(d.Profile.Has)
	}
	if err != nil {
		return fmt.Errorf("declaration of agent %q: %w", d.Agent, err)
	}
	return nil
}

func (q *Queue) submit(id ID, s *Spec) {
	q.last, q.filled = id, true
	c := q.matrix.make(id, q.now)
	sig := q.intern(s.Require, s.Prefer)
	q.sigs.rows[sig].jobs++
	c.add(uint32(id%segmentSize), sig<<4|uint32(s.Priority))
	if s.Key != "" {
		q.keys[s.Key] = submission{id, Fingerprint(s)}
		c.keyed = append(c.keyed, keyed{id, s.Key})
	}
	q.join(c, id, s.Group)
	if len(s.After) > 0 {
		left := slices.DeleteFunc(after(s), func(x ID) bool { return q.matrix.state(x) == Done })
		if len(left) > 0 {
			q.hold(id, blocked{left, s.NotBefore})
			q.matrix.move(id, None, Blocked)
			return
		}
	}
	q.wait(id, None, s.NotBefore)
}

// join adds a job to a group. No job of the group has a greater id.
func (q *Queue) join(c *columns, id ID, group string) {
	if group == "" {
		return
	}
	g := q.groups[group]
	if g == nil {
		g = roaring64.New()
		q.groups[group] = g
	}
	if g.IsEmpty() || g.Maximum()>>segmentBits < uint64(id)>>segmentBits {
		c.groups = append(c.groups, group)
	}
	g.Add(uint64(id))
}

// intern returns the number of a signature, after showing a new one to the agents.
func (q *Queue) intern(require, prefer []string) uint32 {
	n, added := q.sigs.intern(require, prefer)
	if added {
		for _, a := range q.agents {
			if a != nil {
				a.see(q.sigs, n)
			}
		}
	}
	return n
}

// wait makes a job Pending, or Delayed if until is in the future.
func (q *Queue) wait(id ID, from State, until int64) {
	if until > q.now {
		q.matrix.move(id, from, Delayed)
		q.due[id] = until
		q.arm(until, id)
		return
	}
	q.matrix.move(id, from, Pending)
	q.enqueue(id)
}

// arm sets a timer.
func (q *Queue) arm(at int64, id ID) {
	if len(q.timers) > 1024+2*(len(q.runs)+len(q.due)) {
		q.timers.keep(func(t timer) bool {
			r, running := q.runs[t.id]
			when, delayed := q.due[t.id]
			return running && r.timer == t.at || delayed && when == t.at
		})
	}
	q.timers.push(timer{at, id})
}

func (q *Queue) start(d *Decision) {
	n := q.byName[d.Agent]
	q.matrix.move(d.ID, Pending, Running)
	q.dequeue(d.ID)
	c, at := q.matrix.columns(d.ID)
	c.setAttempt(at, d.Attempt)
	q.runs[d.ID] = run{agent: n, attempt: d.Attempt, started: q.now, until: d.Until, timer: d.Until}
	q.arm(d.Until, d.ID)
	sig, _ := q.class(d.ID)
	q.agents[n].running++
	q.monitor.started(q, sig)
	if len(q.sigs.rows[sig].prefer) > 0 {
		q.agents[n].use(q.sigs, sig, d.Learn, q.cfg.Associations)
		q.changed.agent(d.Agent)
	}
}

// stop ends the attempt of the running job of a decision.
func (q *Queue) stop(d *Decision) run {
	r := q.runs[d.ID]
	delete(q.runs, d.ID)
	q.agents[r.agent].running--
	q.monitor.stopped(q, r, d)
	return r
}

func (q *Queue) avoid(agent int, d *Decision) {
	if d.Avoid {
		q.changed.agent(q.agents[agent].name)
		q.agents[agent].block(d.ID, q.now, q.now+q.cfg.Blacklist.Milliseconds())
	}
}

func (q *Queue) cancel(d *Decision) {
	id, from := d.ID, q.matrix.state(d.ID)
	switch from {
	case Running:
		q.stop(d)
	case Delayed:
		delete(q.due, id)
	default:
	}
	q.end(id, from, Canceled)
	if from == Blocked {
		q.abandon(id)
	}
}

// end gives a job its final state.
func (q *Queue) end(id ID, from, to State) {
	delete(q.spared, id)
	q.matrix.move(id, from, to)
	if from == Pending {
		q.dequeue(id)
	}
	q.close(id)
}

func (q *Queue) declare(name string, p *Profile) {
	n, ok := q.byName[name]
	if !ok {
		if n = slices.Index(q.agents, nil); n < 0 {
			n = len(q.agents)
			q.agents = append(q.agents, nil)
		}
		q.byName[name] = n
		q.agents[n] = &agent{name: name}
	}
	q.changed.agent(name)
	a := q.agents[n]
	a.leave(q.sigs)
	a.slots, a.has, a.list = p.Slots, nil, nil
	for _, r := range canonical(p.Has) {
		a.list = append(a.list, q.sigs.resource(r))
		a.has.set(a.list[len(a.list)-1])
	}
	a.learned = slices.DeleteFunc(a.learned, a.has.has)
	for _, r := range slices.Concat(a.list, a.learned) {
		q.sigs.claim(r, 1)
	}
	a.compile(q.sigs)
}
