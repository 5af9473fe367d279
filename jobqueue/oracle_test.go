package jobqueue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// oracle is a queue as the seed describes it, by plain maps and bit vectors that it computes from
// the start for each pick: Pending AND the vectors of the resources. It applies decisions, and
// predicts picks.
type oracle struct {
	cfg    Config
	now    int64
	paused bool
	jobs   map[ID]*oracleJob
	agents map[string]*oracleAgent
	means  map[string]int64 // by signature
}

type oracleJob struct {
	spec    Spec
	state   State
	attempt int
	tries   int // charged attempts
	since   int64
	started int64
	until   int64 // end of the lease, or when it is due
	agent   string
	left    []ID
}

type oracleAgent struct {
	profile Profile
	learned []string
	avoid   []Avoid
}

func newOracle(cfg Config) *oracle {
	return &oracle{cfg: cfg, jobs: map[ID]*oracleJob{}, agents: map[string]*oracleAgent{}, means: map[string]int64{}}
}

func set[T cmp.Ordered](names []T) []T {
	s := slices.Clone(names)
	slices.Sort(s)
	return slices.Compact(s)
}

func (j *oracleJob) signature() string {
	return strings.Join(set(j.spec.Require), ",") + "|" + strings.Join(set(j.spec.Prefer), ",")
}

func (o *oracle) ids() []ID { return slices.Sorted(maps.Keys(o.jobs)) }

// jobVector is a bit vector, by id.
type jobVector map[ID]bool

func (o *oracle) vectorOf(f func(j *oracleJob) bool) jobVector {
	v := jobVector{}
	for id, j := range o.jobs {
		if f(j) {
			v[id] = true
		}
	}
	return v
}

func and(a, b jobVector) jobVector {
	v := jobVector{}
	for id := range a {
		if b[id] {
			v[id] = true
		}
	}
	return v
}

func andNot(a, b jobVector) jobVector {
	v := jobVector{}
	for id := range a {
		if !b[id] {
			v[id] = true
		}
	}
	return v
}

func (a *oracleAgent) knows(r string) bool {
	return slices.Contains(a.profile.Has, r) || slices.Contains(a.learned, r)
}

// fits returns the jobs in Pending of which a has all resources: Pending AND NOT the vector of each
// resource that it lacks.
func (o *oracle) fits(a *oracleAgent) jobVector {
	v := o.vectorOf(func(j *oracleJob) bool { return j.state == Pending })
	for _, j := range o.jobs {
		for _, r := range j.spec.Require {
			if !slices.Contains(a.profile.Has, r) {
				v = andNot(v, o.vectorOf(func(j *oracleJob) bool { return slices.Contains(j.spec.Require, r) }))
			}
		}
	}
	return v
}

// tier returns the vectors of the four tiers of an agent.
func (o *oracle) tiers(a *oracleAgent) [4]jobVector {
	var v [4]jobVector
	v[0] = o.vectorOf(func(j *oracleJob) bool { return slices.ContainsFunc(j.spec.Prefer, a.knows) })
	v[1] = o.vectorOf(func(j *oracleJob) bool { return len(j.spec.Prefer) == 0 })
	v[3] = o.vectorOf(func(j *oracleJob) bool {
		return slices.ContainsFunc(j.spec.Prefer, func(r string) bool {
			for _, other := range o.agents {
				if other.knows(r) {
					return true
				}
			}
			return false
		})
	})
	v[3] = andNot(v[3], v[0])
	all := o.vectorOf(func(*oracleJob) bool { return true })
	v[2] = andNot(andNot(andNot(all, v[0]), v[1]), v[3])
	return v
}

// pick returns the job that an agent has to get.
func (o *oracle) pick(now int64, p *Poll) (ID, bool) {
	a := o.agents[p.Agent]
	if o.paused {
		return 0, false
	}
	running := 0
	for _, j := range o.jobs {
		if j.state == Running && j.agent == p.Agent {
			running++
		}
	}
	if a.profile.Slots > 0 && running >= a.profile.Slots {
		return 0, false
	}
	avoided := jobVector{}
	for _, x := range a.avoid {
		if x.Until > now {
			avoided[x.ID] = true
		}
	}
	fits := andNot(o.fits(a), avoided)
	heads := jobVector{} // the first job of each priority and signature
	seen := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(fits)) {
		j := o.jobs[id]
		if key := fmt.Sprint(j.spec.Priority, j.signature()); !seen[key] {
			seen[key], heads[id] = true, true
		}
	}
	tier := o.tiers(a)
	if p.Policy == Wait {
		heads = andNot(andNot(heads, tier[2]), tier[3])
	}
	starving := and(heads, o.vectorOf(func(j *oracleJob) bool { return now-j.since > o.cfg.MaxPendingWait.Milliseconds() }))
	for _, id := range slices.Sorted(maps.Keys(starving)) {
		return id, true
	}
	for priority := Priorities - 1; priority >= 0; priority-- {
		level := and(heads, o.vectorOf(func(j *oracleJob) bool { return int(j.spec.Priority) == priority }))
		for n, v := range tier {
			if n == 3 && p.Policy == Patient {
				v = and(v, o.vectorOf(func(j *oracleJob) bool { return now-j.since >= p.Delay }))
			}
			ids := slices.Sorted(maps.Keys(and(level, v)))
			if o.cfg.Order == Fastest {
				slices.SortStableFunc(ids, func(x, y ID) int { return int(o.means[o.jobs[x].signature()] - o.means[o.jobs[y].signature()]) })
			}
			if len(ids) > 0 {
				return ids[0], true
			}
		}
	}
	return 0, false
}

// journaled returns a decision as Decisions has it.
func (o *oracle) journaled(d Decision) Decision {
	if j := o.jobs[d.ID]; j != nil && j.state == Running {
		switch d.Kind {
		case Completed, Retried, Exhausted, Returned, CanceledBy:
			d.Agent, d.Attempt = j.agent, uint8(j.attempt)
		default:
		}
	}
	return d
}

// check returns an error if the oracle would not decide d.
func (o *oracle) check(op string, d *Decision) error {
	j := o.jobs[d.ID]
	last := j != nil && (j.tries >= o.cfg.MaxAttempts || j.attempt == 255)
	switch {
	case d.At < o.now:
		return fmt.Errorf("time goes back from %d to %d", o.now, d.At)
	case d.Kind == Retried && last:
		return fmt.Errorf("retry after %d tries", j.tries)
	case d.Kind == Retried && (d.Until < d.At+o.cfg.Backoff.Milliseconds()/2 || d.Until > d.At+o.cfg.MaxBackoff.Milliseconds()):
		return fmt.Errorf("backoff from %d to %d", d.At, d.Until)
	case d.Kind == Exhausted && op != "fail" && !last:
		return fmt.Errorf("the end after %d tries", j.tries)
	case op == "tick" && d.At < j.until:
		return fmt.Errorf("at %d, before %d", d.At, j.until)
	case (d.Kind == Started || d.Kind == Renewed) && d.Until != d.At+o.cfg.Lease.Milliseconds():
		return fmt.Errorf("lease from %d to %d", d.At, d.Until)
	}
	return nil
}

// overdue returns an error if a lease has ended or a job is due.
func (o *oracle) overdue(now int64) error {
	for id, j := range o.jobs {
		if (j.state == Running || j.state == Delayed) && j.until <= now {
			return fmt.Errorf("job %d is %v at %d, since %d", id, j.state, now, j.until)
		}
	}
	return nil
}

func (o *oracle) wait(j *oracleJob, until int64) {
	j.agent, j.until = "", until
	if j.state, j.since = Pending, o.now; until > o.now {
		j.state = Delayed
	}
}

// apply applies a decision.
func (o *oracle) apply(d *Decision) {
	o.now = max(o.now, d.At)
	j := o.jobs[d.ID]
	if d.Avoid && o.cfg.Blacklist > 0 {
		a := o.agents[j.agent]
		a.avoid = append(a.avoid, Avoid{d.ID, o.now + o.cfg.Blacklist.Milliseconds()})
	}
	switch d.Kind {
	case Submitted:
		j = &oracleJob{spec: *d.Spec}
		o.jobs[d.ID] = j
		for _, x := range d.Spec.After {
			if o.jobs[x].state != Done {
				j.left = append(j.left, x)
			}
		}
		if j.state = Blocked; len(j.left) == 0 {
			o.wait(j, d.Spec.NotBefore)
		}
	case Started:
		j.state, j.agent, j.started = Running, d.Agent, o.now
		j.attempt++
		j.tries++
		j.until = d.Until
		o.use(o.agents[d.Agent], j)
	case Renewed:
		j.until = d.Until
	case Completed:
		if mean, ms := o.means[j.signature()], o.now-j.started; mean == 0 {
			o.means[j.signature()] = max(1, ms)
		} else {
			o.means[j.signature()] = max(1, mean+(ms-mean)/8)
		}
		j.state = Done
		for _, x := range o.jobs {
			n := len(x.left)
			x.left = slices.DeleteFunc(x.left, func(id ID) bool { return id == d.ID })
			if x.state == Blocked && n > 0 && len(x.left) == 0 {
				o.wait(x, x.spec.NotBefore)
			}
		}
	case Retried:
		o.wait(j, d.Until)
	case Exhausted:
		j.state = Failed
	case Returned:
		j.tries--
		o.wait(j, 0)
	case CanceledBy:
		j.state = Canceled
	case Redone:
		j.tries = 0
		o.wait(j, 0)
	case BecameDue:
		o.wait(j, 0)
	case AgentUp:
		a := o.agents[d.Agent]
		if a == nil {
			a = &oracleAgent{}
			o.agents[d.Agent] = a
		}
		a.profile = *d.Profile
		a.learned = slices.DeleteFunc(a.learned, func(r string) bool { return slices.Contains(d.Profile.Has, r) })
	case AgentDown:
		delete(o.agents, d.Agent)
	case Paused, Resumed:
		o.paused = d.Kind == Paused
	default:
	}
}

// use associates an agent with the resources of a job that it starts (greedy, in the seed), or
// marks them as used.
func (o *oracle) use(a *oracleAgent, j *oracleJob) {
	remote := !slices.ContainsFunc(j.spec.Prefer, a.knows)
	for _, r := range set(j.spec.Prefer) {
		if slices.Contains(a.profile.Has, r) {
			continue
		}
		if i := slices.Index(a.learned, r); i >= 0 {
			a.learned = append(slices.Delete(a.learned, i, i+1), r)
		} else if remote {
			a.learned = append(a.learned, r)
		}
	}
	if drop := len(a.learned) - o.cfg.Associations; drop > 0 {
		a.learned = slices.Delete(a.learned, 0, drop)
	}
}

// compare returns the first difference between a queue and the oracle: the states, each in one
// vector, the populations, the pending sets with their heads, and the vectors of the agents.
func (o *oracle) compare(q *Queue) error {
	var counts [8]uint64
	for id, j := range o.jobs {
		counts[j.state]++
		if got := q.State(id); got != j.state {
			return fmt.Errorf("job %d is %v, want %v", id, got, j.state)
		}
		if q.matrix.segment(id).open == nil {
			continue
		}
		c, at := q.matrix.columns(id)
		for s := Delayed; s < states; s++ {
			if got := c.vectors[s] != nil && c.vectors[s][at/64]>>(at%64)&1 != 0; got != (s == j.state) {
				return fmt.Errorf("job %d, which is %v: the vector of %v has %v", id, j.state, s, got)
			}
		}
		if got := q.attempt(id); int(got) != j.attempt {
			return fmt.Errorf("job %d: attempt %d, want %d", id, got, j.attempt)
		}
		if _, ok := o.jobs[id+1]; !ok && q.State(id+1) != None {
			return fmt.Errorf("job %d, which was not submitted, is %v", id+1, q.State(id+1))
		}
	}
	if counts != q.Counts() {
		return fmt.Errorf("populations %v, want %v", q.Counts(), counts)
	}
	if err := o.comparePending(q); err != nil {
		return err
	}
	if err := o.compareWaits(q); err != nil {
		return err
	}
	return o.compareAgents(q)
}

// compareWaits compares which jobs are awaited. They are Done later, so they are not closed.
func (o *oracle) compareWaits(q *Queue) error {
	awaited := map[ID]int{}
	for _, j := range o.jobs {
		if j.state == Blocked {
			for _, x := range set(j.left) {
				awaited[x]++
			}
		}
	}
	if len(q.waits) != len(awaited) {
		return fmt.Errorf("awaited jobs %v, want %v", q.waits, awaited)
	}
	for x, n := range awaited {
		if w := q.waits[x]; len(w.ids)-w.gone != n || q.matrix.segment(x).open == nil {
			return fmt.Errorf("job %d is awaited by %+v, want %d jobs; its segment is %+v", x, w, n, q.matrix.segment(x))
		}
	}
	return nil
}

func (o *oracle) comparePending(q *Queue) error {
	type class struct {
		priority int
		sig      uint32
	}
	want := map[class][]ID{}
	for _, id := range o.ids() {
		if o.jobs[id].state == Pending {
			sig, priority := q.class(id)
			want[class{priority, sig}] = append(want[class{priority, sig}], id)
		}
	}
	for n, l := range q.levels {
		if l == nil {
			continue
		}
		for sig := range l.sets {
			ids := want[class{n, uint32(sig)}]
			delete(want, class{n, uint32(sig)})
			if l.sets[sig].n != len(ids) || l.nonempty.has(uint32(sig)) != (len(ids) > 0) {
				return fmt.Errorf("priority %d, signature %d: %d pending, want %v", n, sig, l.sets[sig].n, ids)
			}
			if len(ids) > 0 && (l.heads[sig] != ids[0] || !o.equalTimes(l.since[sig], o.jobs[ids[0]].since) || l.oldest > l.since[sig]) {
				return fmt.Errorf("priority %d, signature %d: head %d since %d, want %d since %d", n, sig, l.heads[sig], l.since[sig],
					ids[0], o.jobs[ids[0]].since)
			}
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("pending jobs in no set: %v", want)
	}
	return nil
}

// equalTimes reports whether a and b are equal, or both before all times that a queue keeps.
func (o *oracle) equalTimes(a, b int64) bool { return a == b || max(a, b) <= o.now-sinceRange }

func (o *oracle) compareAgents(q *Queue) error {
	if len(q.byName) != len(o.agents) {
		return fmt.Errorf("agents %v, want %v", q.byName, o.agents)
	}
	for name, want := range o.agents {
		a := q.agents[q.byName[name]]
		var learned []string
		for _, r := range a.learned {
			learned = append(learned, q.sigs.names[r])
		}
		if !slices.Equal(set(learned), set(want.learned)) {
			return fmt.Errorf("agent %s is associated with %v, want %v", name, learned, want.learned)
		}
		tiers := o.tiers(want)
		fits := o.fits(want)
		for id, j := range o.jobs {
			if q.matrix.segment(id).open == nil {
				continue
			}
			sig, _ := q.class(id)
			if j.state == Pending && a.match.has(sig) != fits[id] {
				return fmt.Errorf("agent %s fits job %d: %v, want %v by the literal AND", name, id, a.match.has(sig), fits[id])
			}
			local, open, taken := a.local.has(sig), q.sigs.open.has(sig), q.sigs.taken.has(sig)
			if got := [4]bool{local, open, !open && !taken, taken && !local}; got != [4]bool{tiers[0][id], tiers[1][id], tiers[2][id], tiers[3][id]} {
				return fmt.Errorf("agent %s, job %d: tiers %v", name, id, got)
			}
		}
	}
	return nil
}
