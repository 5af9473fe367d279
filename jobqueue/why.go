package jobqueue

import (
	"fmt"
	"slices"
	"strings"
)

// Why is the answer to "why does no agent have this job?".
type Why struct {
	ID     ID
	State  State
	Paused bool
	Until  int64  // of a Delayed job: when it becomes pending, Unix ms
	After  []ID   // of a Blocked job: the jobs that are not Done
	Ahead  ID     // of a Pending job: the first job with the same priority and signature
	Agents int    // agents that are up
	Fit    int    // agents that could start it now
	Busy   int    // agents that have its resources, but no free slot
	Avoid  int    // agents that have its resources, but have it on their blacklist
	Lack   []Lack // resources that agents lack, the most frequent first
}

// Lack is a resource and the number of agents that lack it.
type Lack struct {
	Resource string
	Agents   int
}

// Why returns why a job is not running. The error wraps ErrUnknown or ErrEvicted.
func (q *Queue) Why(nowMs int64, id ID) (Why, error) {
	w := Why{ID: id, State: q.matrix.state(id), Paused: q.paused, Until: q.due[id]}
	switch {
	case w.State == None:
		return w, fmt.Errorf("job %d: %w", id, ErrUnknown)
	case q.matrix.segment(id).open == nil:
		return w, fmt.Errorf("job %d, which is %s: %w", id, w.State, ErrEvicted)
	}
	w.After = slices.Clone(q.block[id].left)
	if w.State == Running || w.State.Terminal() {
		return w, nil
	}
	sig, priority := q.class(id)
	if w.State == Pending {
		w.Ahead = q.levels[priority].heads[sig]
	}
	lacks := map[uint32]int{}
	for _, a := range q.agents {
		if a == nil {
			continue
		}
		w.Agents++
		switch {
		case !a.match.has(sig):
			for _, r := range q.sigs.rows[sig].require {
				if !a.has.has(r) {
					lacks[r]++
				}
			}
		case a.avoids(id, q.at(nowMs)):
			w.Avoid++
		case a.slots > 0 && a.running >= a.slots:
			w.Busy++
		default:
			w.Fit++
		}
	}
	for r, n := range lacks {
		w.Lack = append(w.Lack, Lack{q.sigs.names[r], n})
	}
	slices.SortFunc(w.Lack, func(a, b Lack) int {
		if a.Agents != b.Agents {
			return b.Agents - a.Agents
		}
		return strings.Compare(a.Resource, b.Resource)
	})
	return w, nil
}

// String states the answer in one sentence, such as "pending: 0 of 214 agents fit: 180 lack gpu, 34
// busy".
func (w Why) String() string {
	var why []string
	switch w.State {
	case Delayed:
		return fmt.Sprintf("delayed until %d", w.Until)
	case Blocked:
		return fmt.Sprintf("blocked by %d jobs, the first is %d", len(w.After), w.After[0])
	case Pending:
	default:
		return w.State.String()
	}
	if w.Paused {
		why = append(why, "the queue is paused")
	}
	for _, l := range w.Lack {
		why = append(why, fmt.Sprintf("%d lack %s", l.Agents, l.Resource))
	}
	if w.Busy > 0 {
		why = append(why, fmt.Sprintf("%d busy", w.Busy))
	}
	if w.Avoid > 0 {
		why = append(why, fmt.Sprintf("%d avoid it after a failure", w.Avoid))
	}
	if w.Fit > 0 && w.Ahead != w.ID {
		why = append(why, fmt.Sprintf("job %d comes first", w.Ahead))
	}
	s := fmt.Sprintf("pending: %d of %d agents fit", w.Fit, w.Agents)
	if len(why) > 0 {
		s += ": " + strings.Join(why, ", ")
	}
	return s
}

// Misfit is why an agent does not get a job.
type Misfit struct {
	State  State
	Paused bool
	Lacks  []string // resources that the job requires and the agent lacks
	Busy   bool     // the agent has no free slot
	Avoid  int64    // end of the entry in the agent's blacklist, Unix ms; 0 without one
	Remote bool     // other agents have the preferred resources: Wait refuses, and Patient waits
	New    bool     // no agent has the preferred resources: Wait refuses
	Ahead  ID       // first job with the same priority and signature; 0 if the job is not Pending
}

// WhyNot returns why an agent does not get a job. The error wraps ErrUnknown, ErrEvicted or
// ErrAgent.
func (q *Queue) WhyNot(nowMs int64, id ID, agent string) (Misfit, error) {
	w, err := q.Why(nowMs, id)
	m := Misfit{State: w.State, Paused: w.Paused, Ahead: w.Ahead}
	n, ok := q.byName[agent]
	if err == nil && !ok {
		err = fmt.Errorf("agent %q: %w", agent, ErrAgent)
	}
	if err != nil {
		return m, err
	}
	a := q.agents[n]
	sig, _ := q.class(id)
	row := &q.sigs.rows[sig]
	m.Lacks = q.sigs.namesOf(slices.DeleteFunc(slices.Clone(row.require), a.has.has))
	m.Busy = a.slots > 0 && a.running >= a.slots
	for _, x := range a.avoid {
		if x.id == id && x.until > q.at(nowMs) {
			m.Avoid = x.until
		}
	}
	if !a.local.has(sig) && len(row.prefer) > 0 {
		m.Remote = row.claimed > 0
		m.New = row.claimed == 0
	}
	return m, nil
}
