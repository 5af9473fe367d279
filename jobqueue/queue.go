package jobqueue

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/cespare/xxhash/v2"
)

// Queue is the state of one queue. Its methods must be called by one goroutine at a time, except
// State, which any goroutine may call.
type Queue struct {
	cfg     Config
	matrix  *matrix
	sigs    *signatures
	levels  [Priorities]*level // by priority; nil if it never had a job
	agents  []*agent           // nil: a free number
	byName  map[string]int     // numbers of agents
	runs    map[ID]run         // of Running jobs
	due     map[ID]int64       // of Delayed jobs: when they become Pending, Unix ms
	block   map[ID]blocked     // of Blocked jobs
	waits   map[ID]waiters     // by job: the jobs that are blocked by it
	spared  map[ID]uint8       // by job: attempts that are not charged as tries
	keys    map[string]submission
	groups  map[string]*roaring64.Bitmap // members in open segments
	timers  timers
	now     int64 // greatest time of a decision, Unix ms
	last    ID    // greatest id
	filled  bool  // there was a job
	gone    ID    // jobs with lower ids are evicted as soon as they have ended
	closed  uint64
	paused  bool
	wrong   [states][events]uint64
	changed *changes // for Delta; nil: not recorded
	monitor *monitor // for Signals; nil: not watched
	over    []head   // scratch of pick
	cand    vector   // scratch of pick
	own     Decision // last one of apply

	recorded []Decision // for Decisions; nil: not recorded
}

// run is a running attempt.
type run struct {
	agent   int
	attempt uint8
	started int64 // Unix ms
	until   int64 // end of the lease, Unix ms
	timer   int64 // time of its timer, Unix ms
}

// blocked is a job that waits for others.
type blocked struct {
	left      []ID // not Done yet, ascending
	notBefore int64
}

// waiters are the jobs that wait for another one.
type waiters struct {
	ids  []ID // with jobs that were canceled
	gone int  // ids that were canceled, at most half of all
}

// submission is the first job with an idempotency key.
type submission struct {
	id   ID
	hash uint64 // of its specification
}

// New returns an empty queue. The error wraps ErrInvalid.
func New(cfg Config) (*Queue, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Queue{
		cfg: cfg, matrix: &matrix{}, sigs: newSignatures(cfg.MaxResources), byName: map[string]int{}, runs: map[ID]run{},
		due: map[ID]int64{}, block: map[ID]blocked{}, waits: map[ID]waiters{}, spared: map[ID]uint8{}, keys: map[string]submission{},
		groups: map[string]*roaring64.Bitmap{},
	}, nil
}

// Configure changes the settings, from the next decision on. The error wraps ErrInvalid.
func (q *Queue) Configure(cfg Config) error {
	cfg, err := cfg.withDefaults()
	if err == nil {
		q.cfg, q.sigs.max = cfg, cfg.MaxResources
	}
	return err
}

// State returns the state of a job, None if there is no such job. It is safe for concurrent use
// with all methods: it takes one atomic load, and a job is in one state at any time.
func (q *Queue) State(id ID) State { return q.matrix.state(id) }

// Counts returns the number of jobs by state, evicted ones included.
func (q *Queue) Counts() [8]uint64 { return q.matrix.counts }

// Flows returns how many jobs changed their state since the start of the process, by the states
// before and after. Rates in and out of a state are differences of it.
func (q *Queue) Flows() [8][8]uint64 { return q.matrix.flows }

// Refused returns how many requests were refused since the start of the process, by state and
// event.
func (q *Queue) Refused() [8][9]uint64 { return q.wrong }

// Paused reports whether the queue is paused.
func (q *Queue) Paused() bool { return q.paused }

// Next returns the time at which Tick has to be called at the latest; false if no job has a timer.
func (q *Queue) Next() (atMs int64, ok bool) {
	if len(q.timers) == 0 {
		return 0, false
	}
	return q.timers[0].at, true
}

// at returns the time of a decision. Time does not go back: a clock that does stands still.
func (q *Queue) at(nowMs int64) int64 { return max(nowMs, q.now) }

// attempt returns the last attempt of a job, 0 if it never started or was evicted.
func (q *Queue) attempt(id ID) uint8 {
	if s := q.matrix.segment(id); s != nil && s.open != nil {
		return s.open.attemptOf(uint32(id % segmentSize))
	}
	return 0
}

// class returns the signature and the priority of a job in an open segment.
func (q *Queue) class(id ID) (signature uint32, priority int) {
	c, at := q.matrix.columns(id)
	return c.class[at] >> 4, int(c.class[at] & 15)
}

// request is an event of a job from outside.
type request struct {
	id      ID
	event   Event
	agent   string // empty: any
	attempt uint8
}

// permit reports whether the event changes the state of the job. Without an error and a change, the
// event has its effect already.
func (q *Queue) permit(r request) (changes bool, err error) {
	s, current := q.matrix.state(r.id), q.attempt(r.id)
	v := verdictOf(s, r.event)
	if r.event >= Complete && r.event <= Return { // an agent's event, which is about an attempt
		mine := r.attempt == current && current != 0
		if s == Running && mine && r.agent != "" {
			mine = q.agents[q.runs[r.id].agent].name == r.agent
		}
		if !mine && (v == legal || v == same) {
			v = late
		}
	}
	var why error
	switch {
	case s.Terminal() && r.id < q.gone && (r.event != Redo || !q.awaited(r.id)):
		why = ErrEvicted
	case v == legal:
		return true, nil
	case v == same:
		return false, nil
	case v == unknown:
		why = ErrUnknown
	case v == late && r.attempt != 0 && r.attempt <= current:
		why = ErrStale
	default:
		why = ErrIllegal
	}
	return false, &Error{ID: r.id, State: s, Event: r.event, Attempt: r.attempt, Current: current, Reason: why}
}

// refuse counts a refused request.
func (q *Queue) refuse(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		q.wrong[e.State][e.Event]++
	}
	return err
}

// decide applies a decision on r, if r changes its job. A refused request is counted.
func (q *Queue) decide(r request, decision func() Decision) (Decision, error) {
	changes, err := q.permit(r)
	if !changes {
		return Decision{ID: r.id}, q.refuse(err)
	}
	d, err := q.apply(decision())
	return d, q.refuse(err)
}

// apply applies a decision of this queue.
func (q *Queue) apply(d Decision) (Decision, error) {
	q.own = d // on the heap once, and not for each decision
	if err := q.Apply(&q.own); err != nil {
		return Decision{}, err
	}
	return d, nil
}

// Fingerprint returns a hash of a specification, without the earliest start: a client that repeats
// a submission may compute it from the time of day. It is JobRow.Hash of a job with a key.
func Fingerprint(s *Spec) uint64 {
	var b []byte
	for _, list := range [][]string{canonical(s.Require), canonical(s.Prefer), {s.Group}} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, name := range list {
			b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		}
	}
	b = append(b, s.Priority)
	for _, id := range after(s) {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return xxhash.Sum64(b)
}

// after returns the jobs that s waits for in ascending order, each once.
func after(s *Spec) []ID {
	list := slices.Clone(s.After)
	slices.Sort(list)
	return slices.Compact(list)
}
