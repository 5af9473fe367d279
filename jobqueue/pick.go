package jobqueue

import (
	"fmt"
	"math"
	"math/bits"
)

// Policy is what a poll does if the queue has no job that suits the agent's associations.
type Policy uint8

// The policies.
const (
	// Wait takes jobs that prefer a resource of the agent, or no resource.
	Wait Policy = iota
	// Greedy takes any job whose requirements the agent meets, and associates the agent with the
	// resources that the job prefers.
	Greedy
	// Patient is Greedy, but takes a job that other agents are associated with only when the job
	// was pending for Poll.Delay (delay scheduling, Zaharia et al. 2010).
	Patient
)

// Poll is a request for jobs.
type Poll struct {
	Agent  string
	N      int // jobs at most
	Policy Policy
	Delay  int64 // ms, for Patient
}

// level has the pending jobs of one priority, by signature.
type level struct {
	sets     []pending
	heads    []ID    // lowest pending id
	since    []int64 // since when the head is pending, Unix ms
	nonempty vector
	oldest   int64 // not greater than any since of a head
}

// Times of heads. A head that is never picked has the time never, which is after any.
const (
	anyTime = math.MaxInt64 - 1
	never   = math.MaxInt64
)

// head is the lowest pending id of a priority and signature that an agent may have.
type head struct {
	level int
	sig   uint32
	id    ID
	since int64
}

func (q *Queue) enqueue(id ID) {
	c, at := q.matrix.columns(id)
	if c.setSince(at, q.now) {
		q.changed.segment(id)
	}
	sig, priority := q.class(id)
	q.monitor.enqueued(q, sig)
	l := q.levels[priority]
	if l == nil {
		l = &level{oldest: math.MaxInt64}
		q.levels[priority] = l
	}
	for len(l.sets) <= int(sig) {
		l.sets, l.heads, l.since = append(l.sets, pending{}), append(l.heads, 0), append(l.since, 0)
	}
	p := &l.sets[sig]
	if p.add(id); p.n == 1 || id < l.heads[sig] {
		l.setHead(sig, id, c.sinceOf(at))
	}
	l.nonempty.set(sig)
}

func (l *level) setHead(sig uint32, id ID, since int64) {
	l.heads[sig], l.since[sig] = id, since
	l.oldest = min(l.oldest, since)
}

// dequeue removes a job that is not Pending any more.
func (q *Queue) dequeue(id ID) {
	sig, priority := q.class(id)
	q.monitor.dequeued(q, sig)
	l := q.levels[priority]
	p := &l.sets[sig]
	if p.remove(q.matrix, id); p.n == 0 {
		l.nonempty.clear(sig)
	} else if l.heads[sig] == id {
		next, _ := p.head(q.matrix)
		c, at := q.matrix.columns(next)
		l.setHead(sig, next, c.sinceOf(at))
	}
}

// Poll starts at most p.N jobs. It appends the decisions to dst. If it starts fewer, retryMs is the
// time at which a further poll could get a job by waiting alone; 0: it needs another event.
func (q *Queue) Poll(dst []Decision, nowMs int64, p *Poll) (started []Decision, retryMs int64, err error) {
	n, ok := q.byName[p.Agent]
	if !ok {
		return dst, 0, fmt.Errorf("poll of agent %q: %w", p.Agent, ErrAgent)
	}
	if p.Policy > Patient || p.N < 0 || p.Delay < 0 {
		return dst, 0, fmt.Errorf("%w poll of agent %q: policy %d, %d jobs, delay %d", ErrInvalid, p.Agent, p.Policy, p.N, p.Delay)
	}
	a, at := q.agents[n], q.at(nowMs)
	for range p.N {
		if q.paused || a.slots > 0 && a.running >= a.slots {
			return dst, 0, nil
		}
		h, ok := q.pick(a, at, p)
		if !ok {
			return dst, q.retryAt(a, at, p), nil
		}
		d, err := q.apply(Decision{
			Kind: Started, At: at, ID: h.id, Attempt: q.attempt(h.id) + 1, Agent: a.name, Until: at + q.cfg.Lease.Milliseconds(),
			Learn: len(q.sigs.rows[h.sig].prefer) > 0 && !a.local.has(h.sig),
		})
		if err != nil {
			return dst, 0, err
		}
		dst = append(dst, d)
	}
	return dst, 0, nil
}

// The tiers of signatures whose requirements an agent meets, best first.
const (
	localTier  = iota // it has a preferred resource
	openTier          // there are no preferred resources
	newTier           // no agent is associated with a preferred resource
	remoteTier        // other agents are associated with the preferred resources
	tiers
)

// pick returns the job that the agent gets.
func (q *Queue) pick(a *agent, now int64, p *Poll) (head, bool) {
	q.skipAvoided(a, now)
	if h, ok := q.starving(a, now, p.Policy); ok {
		return h, true
	}
	last := remoteTier
	if p.Policy == Wait {
		last = openTier
	}
	for n := Priorities - 1; n >= 0; n-- {
		l := q.levels[n]
		if l == nil {
			continue
		}
		for tier := localTier; tier <= last; tier++ {
			latest := int64(anyTime)
			if tier == remoteTier && p.Policy == Patient {
				latest = now - p.Delay
			}
			q.candidates(a, n, 1<<tier)
			if h, ok := q.best(n, latest, q.cfg.Order); ok {
				return h, true
			}
		}
	}
	return head{}, false
}

// starving returns the lowest id of those heads that waited longer than MaxPendingWait.
func (q *Queue) starving(a *agent, now int64, policy Policy) (best head, found bool) {
	limit := now - q.cfg.MaxPendingWait.Milliseconds() - 1
	mask := 1<<tiers - 1
	if policy == Wait {
		mask = 1<<localTier | 1<<openTier
	}
	for n, l := range q.levels {
		if l == nil || l.oldest > limit && len(q.over) == 0 {
			continue
		}
		if l.refresh(); l.oldest > limit && len(q.over) == 0 {
			continue
		}
		q.candidates(a, n, mask)
		if h, ok := q.best(n, limit, FIFO); ok && (!found || h.id < best.id) {
			best, found = h, true
		}
	}
	return best, found
}

// refresh computes the time of the oldest head.
func (l *level) refresh() {
	l.oldest = math.MaxInt64
	l.nonempty.each(func(sig uint32) { l.oldest = min(l.oldest, l.since[sig]) })
}

// candidates sets q.cand to the signatures with pending jobs of priority n whose requirements a
// meets, of the tiers in mask.
func (q *Queue) candidates(a *agent, n, mask int) {
	l := q.levels[n]
	q.cand = q.cand[:0]
	for i, w := range l.nonempty {
		if w &= a.match.word(i); w != 0 && mask != 1<<tiers-1 {
			local, open, taken := a.local.word(i), q.sigs.open.word(i), q.sigs.taken.word(i)
			kept := uint64(0)
			if mask>>localTier&1 != 0 {
				kept |= local
			}
			if mask>>openTier&1 != 0 {
				kept |= open
			}
			if mask>>newTier&1 != 0 {
				kept |= ^(open | taken)
			}
			if mask>>remoteTier&1 != 0 {
				kept |= taken &^ local
			}
			w &= kept
		}
		q.cand = append(q.cand, w)
	}
}

// best returns the first of the heads in q.cand that are pending since latest or before. For a
// signature whose head the agent avoids, q.over has the head.
func (q *Queue) best(n int, latest int64, order Order) (best head, found bool) {
	l := q.levels[n]
	better := func(h head) bool {
		if !found {
			return true
		}
		if x, y := q.sigs.means[h.sig], q.sigs.means[best.sig]; order == Fastest && x != y {
			return x < y
		}
		return h.id < best.id
	}
	for _, h := range q.over {
		if h.level != n || !q.cand.has(h.sig) {
			continue
		}
		q.cand.clear(h.sig)
		if h.since <= latest && better(h) {
			best, found = h, true
		}
	}
	for i, w := range q.cand {
		for ; w != 0; w &= w - 1 {
			sig := uint32(i<<6 | bits.TrailingZeros64(w))
			if l.since[sig] > latest || found && order == FIFO && l.heads[sig] > best.id {
				continue
			}
			if h := (head{n, sig, l.heads[sig], l.since[sig]}); better(h) {
				best, found = h, true
			}
		}
	}
	return best, found
}

// skipAvoided sets q.over: for each signature whose head the agent avoids, the lowest job that it
// does not avoid, or a job that is never picked.
func (q *Queue) skipAvoided(a *agent, now int64) {
	q.over = q.over[:0]
	for _, x := range a.avoid {
		if x.until <= now || q.matrix.state(x.id) != Pending {
			continue
		}
		sig, n := q.class(x.id)
		l := q.levels[n]
		if l.heads[sig] != x.id {
			continue
		}
		h := head{n, sig, 0, never}
		if id, ok := l.sets[sig].find(q.matrix, func(id ID) bool { return !a.avoids(id, now) }); ok {
			c, at := q.matrix.columns(id)
			h.id, h.since = id, c.sinceOf(at)
		}
		q.over = append(q.over, h)
	}
}

// retryAt returns when a poll that got nothing could get a job without any event, 0 if never: when
// a job leaves the agent's blacklist, or was pending for the delay. It needs q.over of the poll.
func (q *Queue) retryAt(a *agent, now int64, p *Poll) int64 {
	at := int64(never)
	for _, x := range a.avoid {
		if x.until > now && q.matrix.state(x.id) == Pending {
			at = min(at, x.until)
		}
	}
	if p.Policy == Patient {
		wait := min(p.Delay, q.cfg.MaxPendingWait.Milliseconds()+1)
		for n, l := range q.levels {
			if l == nil {
				continue
			}
			q.candidates(a, n, 1<<remoteTier)
			for _, h := range q.over {
				if h.level == n && q.cand.has(h.sig) {
					q.cand.clear(h.sig)
					at = min(at, min(h.since, never-wait)+wait)
				}
			}
			q.cand.each(func(sig uint32) { at = min(at, l.since[sig]+wait) })
		}
	}
	if at == never {
		return 0
	}
	return at
}
