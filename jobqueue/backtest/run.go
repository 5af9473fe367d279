package backtest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/jobqueue"
)

// Run runs the jobs of a trace. The error wraps ErrConfig, or is that of ctx.
func (t *Trace) Run(ctx context.Context, c Config, p Policy) (*Result, error) {
	c, err := c.withDefaults(t)
	if err != nil {
		return nil, err
	}
	s, err := newSimulation(t, c, p)
	if err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// simulation is a trace that is run. A pass over the idle agents polls only for those that may get
// a job:
//
//   - agents that have just become free, or have a preferred resource of a job that has just
//     arrived (agent.retry)
//   - all idle agents while there is a job that has just arrived and no agent has its preferred
//     resources, or whose delay has just ended (open)
//   - all idle agents after an agent has dropped a resource that pending jobs prefer and no other
//     agent has: now each agent is as good for them as another (dropped)
type simulation struct {
	trace  *Trace
	cfg    Config
	policy Policy
	queue  *jobqueue.Queue
	poll   jobqueue.Poll
	result *Result

	specs  []*jobqueue.Spec // by class, as they are submitted
	prefer [][]resource     // by class

	agents  []agent
	idle    []int // agents with free slots; the one that waits longest is first
	ends    []end // of running jobs, the latest first
	next    int   // job that arrives next
	due     int   // job whose delay ends next
	open    map[int]bool
	dropped bool
	picked  []jobqueue.Decision

	pending int
	wanted  []int // by resource: pending jobs that prefer it
	holders []int // by resource: agents that have it
}

// end is the end of a running job.
type end struct {
	at         int64
	job, agent int
}

func newSimulation(t *Trace, c Config, p Policy) (*simulation, error) {
	q, err := jobqueue.New(jobqueue.Config{Associations: c.Associations, MaxPendingWait: c.MaxWait, MaxResources: 1_000_000})
	if err != nil {
		return nil, err
	}
	s := &simulation{
		trace: t, cfg: c, policy: p, queue: q, poll: p.poll(), open: map[int]bool{},
		result: &Result{Policy: p, Config: c, trace: t, waits: make([]int64, len(t.Jobs))},
	}
	numbers := map[string]resource{}
	for i := range t.Classes {
		spec := t.Classes[i]
		prefer := make([]resource, len(spec.Prefer))
		for j, name := range spec.Prefer {
			n, ok := numbers[name]
			if !ok {
				n = resource(len(numbers))
				numbers[name] = n
			}
			prefer[j] = n
		}
		if p.Kind == FIFO {
			spec.Prefer = nil
		}
		s.specs, s.prefer = append(s.specs, &spec), append(s.prefer, prefer)
	}
	s.wanted, s.holders = make([]int, len(numbers)), make([]int, len(numbers))
	return s, s.declare(numbers)
}

// declare declares the agents.
func (s *simulation) declare(numbers map[string]resource) error {
	for _, g := range s.cfg.Agents {
		has := make([]bool, len(numbers))
		for _, name := range g.Has {
			if r, ok := numbers[name]; ok && !has[r] {
				has[r] = true
				s.holders[r] += g.N
			}
		}
		for range g.N {
			a := agent{name: fmt.Sprintf("agent-%d", len(s.agents)), free: s.cfg.Slots, has: has}
			if _, err := s.queue.Declare(0, a.name, &jobqueue.Profile{Has: g.Has, Slots: s.cfg.Slots}); err != nil {
				return fmt.Errorf("%w: %w", ErrConfig, err)
			}
			s.idle = append(s.idle, len(s.agents))
			s.agents = append(s.agents, a)
		}
	}
	return nil
}

// run simulates until all jobs have ended.
func (s *simulation) run(ctx context.Context) (*Result, error) {
	for events := 0; ; events++ {
		now, more := s.nextEvent()
		if !more {
			break
		}
		if events%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.step(now); err != nil {
			return nil, err
		}
	}
	if s.pending > 0 { // a bug: an agent is free and meets the requirements of each job
		return nil, fmt.Errorf("%d jobs found no agent", s.pending)
	}
	return s.finish(), nil
}

// nextEvent returns the time of the next arrival, end of a job or end of a delay.
func (s *simulation) nextEvent() (at int64, ok bool) {
	at = math.MaxInt64
	if s.next < len(s.trace.Jobs) {
		at = s.trace.Jobs[s.next].AtMs
	}
	if n := len(s.ends); n > 0 {
		at = min(at, s.ends[n-1].at)
	}
	at = min(at, s.nextDue())
	return at, at < math.MaxInt64
}

// nextDue returns the time at which the delay of a pending job ends. Then agents take the job that
// do not have its resources.
func (s *simulation) nextDue() int64 {
	if s.policy.Kind != Delay {
		return math.MaxInt64
	}
	for ; s.due < s.next; s.due++ {
		if s.result.waits[s.due] == pendingWait {
			return s.trace.Jobs[s.due].AtMs + min(s.poll.Delay, s.cfg.MaxWait.Milliseconds()+1)
		}
	}
	return math.MaxInt64
}

// pendingWait is the wait of a job that has not started.
const pendingWait = -1

// step simulates what happens at a time.
func (s *simulation) step(now int64) error {
	for n := len(s.ends); n > 0 && s.ends[n-1].at <= now; n-- {
		if err := s.complete(s.ends[n-1]); err != nil {
			return err
		}
		s.ends = s.ends[:n-1]
	}
	for ; s.next < len(s.trace.Jobs) && s.trace.Jobs[s.next].AtMs <= now; s.next++ {
		if err := s.arrive(s.next); err != nil {
			return err
		}
	}
	for ; s.nextDue() <= now; s.due++ {
		s.open[s.due] = true
	}
	err := s.serve(now)
	clear(s.open)
	s.dropped = false
	return err
}

// complete ends a job.
func (s *simulation) complete(e end) error {
	a := &s.agents[e.agent]
	if _, err := s.queue.Complete(e.at, a.name, jobqueue.ID(e.job), 1); err != nil {
		return err
	}
	if a.free == 0 {
		s.idle = append(s.idle, e.agent)
	}
	a.free++
	a.retry = true
	return nil
}

// arrive submits a job.
func (s *simulation) arrive(id int) error {
	j := &s.trace.Jobs[id]
	if _, err := s.queue.Submit(j.AtMs, jobqueue.ID(id), s.specs[j.Class]); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s.result.waits[id] = pendingWait
	s.pending++
	prefer := s.prefer[j.Class]
	held := false
	for _, r := range prefer {
		s.wanted[r]++
		held = held || s.holders[r] > 0
	}
	if s.policy.Kind != Delay || !held {
		s.open[id] = true
		return nil
	}
	for _, i := range s.idle {
		if a := &s.agents[i]; a.keepsAny(prefer) {
			a.retry = true
		}
	}
	return nil
}

// serve polls for idle agents until no agent can get a job.
func (s *simulation) serve(now int64) error {
	for s.pending > 0 {
		before := s.pending
		rest := s.idle[:0]
		for _, i := range s.idle {
			a := &s.agents[i]
			if s.pending > 0 && (a.retry || s.dropped || len(s.open) > 0) {
				if err := s.offer(i, now); err != nil {
					return err
				}
			}
			if a.free > 0 {
				rest = append(rest, i)
			}
		}
		s.idle = rest
		if !s.dropped || s.pending == before {
			break
		}
	}
	return nil
}

// offer polls for an agent.
func (s *simulation) offer(i int, now int64) (err error) {
	a := &s.agents[i]
	a.retry = false
	s.poll.Agent, s.poll.N = a.name, a.free
	if s.picked, _, err = s.queue.Poll(s.picked[:0], now, &s.poll); err != nil {
		return err
	}
	for k := range s.picked {
		s.start(i, &s.picked[k])
	}
	return nil
}

// start runs a job.
func (s *simulation) start(i int, d *jobqueue.Decision) {
	id := int(d.ID)
	j, a, r := &s.trace.Jobs[id], &s.agents[i], s.result
	prefer := s.prefer[j.Class]
	a.free--
	s.pending--
	delete(s.open, id)
	for _, r := range prefer {
		s.wanted[r]--
	}
	run := j.RunMs
	hit, loaded, dropped := a.use(prefer, s.cfg.Associations)
	switch {
	case len(prefer) == 0:
	case hit:
		r.Preferring++
		r.Hits++
	default:
		r.Preferring++
		run += s.cfg.Load.Milliseconds()
		r.loadingMs += float64(s.cfg.Load.Milliseconds())
	}
	for _, x := range loaded {
		s.holders[x]++
	}
	for _, x := range dropped {
		s.holders[x]--
		s.dropped = s.dropped || s.policy.Kind == Delay && s.holders[x] == 0 && s.wanted[x] > 0
	}
	r.waits[id] = d.At - j.AtMs
	r.busyMs += float64(run)
	r.makespanMs = max(r.makespanMs, d.At+run)
	e := end{d.At + run, id, i}
	at, _ := slices.BinarySearchFunc(s.ends, e, func(x, e end) int { return cmp.Or(cmp.Compare(e.at, x.at), cmp.Compare(e.job, x.job)) })
	s.ends = slices.Insert(s.ends, at, e)
}
