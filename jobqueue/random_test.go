package jobqueue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// history is a random history of a queue beside the oracle.
type history struct {
	choose  func(n int) int // a number below n
	cfg     Config
	q       *Queue
	o       *oracle
	now     int64
	last    ID
	log     []Decision
	restore *Queue // restored from a snapshot in the middle, with the decisions since
	store   *rowStore
	bug     func(q *Queue, d *Decision)
	seen    map[string]int
}

func newHistory(choose func(int) int) (*history, error) {
	cfg := Config{
		Lease: 10 * time.Second, MaxAttempts: 3, Backoff: 2 * time.Second, MaxPendingWait: 40 * time.Second, Blacklist: 15 * time.Second,
		Associations: 3, Order: Order(choose(2)),
	}
	q, err := New(cfg)
	if err != nil {
		return nil, err
	}
	q.Track()
	q.Watch()
	q.Journal(true)
	return &history{choose: choose, cfg: cfg, q: q, o: newOracle(q.cfg), now: 1_000_000, store: newRowStore(), seen: map[string]int{}}, nil
}

func (h *history) names(most int) (list []string) {
	for range h.choose(most + 1) {
		list = append(list, string(rune('a'+h.choose(4))))
	}
	return list
}

func (h *history) agent() string { return string(rune('A' + h.choose(3))) }

// job returns an id, mostly of a job, and one of its attempts.
func (h *history) job() (ID, uint8) {
	ids := h.o.ids()
	if len(ids) == 0 || h.choose(20) == 0 {
		return ID(h.choose(200_000)), uint8(h.choose(3))
	}
	var running []ID
	for _, id := range ids {
		if h.o.jobs[id].state == Running {
			running = append(running, id)
		}
	}
	if len(running) > 0 && h.choose(3) > 0 {
		ids = running
	}
	id := ids[h.choose(len(ids))]
	attempt := h.o.jobs[id].attempt
	if h.choose(5) == 0 {
		attempt += h.choose(3) - 1
	}
	return id, uint8(max(0, attempt))
}

// holder returns the agent of a job, sometimes another one.
func (h *history) holder(id ID) string {
	if j := h.o.jobs[id]; j != nil && j.agent != "" && h.choose(6) > 0 {
		return j.agent
	}
	return h.agent()
}

// did applies decisions to the oracle and the copies, and compares all.
func (h *history) did(op string, ds ...Decision) error {
	h.seen[op]++
	var journal []Decision
	for i := range ds {
		d := &ds[i]
		if d.Kind == Nothing {
			continue
		}
		if d.Kind != Renewed {
			journal = append(journal, h.o.journaled(*d))
		}
		h.log = append(h.log, *d)
		if err := h.o.check(op, d); err != nil {
			return fmt.Errorf("%s decided %+v: %w", op, d, err)
		}
		if h.o.apply(d); h.bug != nil {
			h.bug(h.q, d)
		}
		if h.restore != nil {
			if err := h.restore.Apply(d); err != nil {
				return fmt.Errorf("the restored queue refuses %+v: %w", d, err)
			}
		}
	}
	if got := h.q.Decisions(); !reflect.DeepEqual(got, journal) {
		return fmt.Errorf("after %s %+v the journal has %+v, want %+v", op, ds, got, journal)
	}
	if err := h.o.compare(h.q); err != nil {
		return fmt.Errorf("after %s %+v: %w", op, ds, err)
	}
	h.q.Sample(h.now)
	if h.store.take(h.q, ds); h.choose(10) == 0 {
		err := h.store.compare(h.cfg, h.q)
		if err == nil {
			err = h.q.recount()
		}
		if err != nil {
			return fmt.Errorf("after %s %+v: %w", op, ds, err)
		}
	}
	return nil
}

// one checks a request about one job. A refused request must change nothing.
func (h *history) one(op string, f func() (Decision, error)) error {
	before := h.q.Snapshot()
	d, err := f()
	if err != nil || d.Kind == Nothing {
		if after := h.q.Snapshot(); !reflect.DeepEqual(before, after) {
			return fmt.Errorf("%s, which answered %v, changed the state", op, err)
		}
	}
	var e *Error
	if err != nil && !errors.As(err, &e) && !errors.Is(err, ErrOrder) && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrEvicted) &&
		!errors.Is(err, ErrKeyReused) && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("%s: unexpected error %w", op, err)
	}
	return h.did(op, d)
}

func (h *history) submit() error {
	id := h.last + 1 + ID([]int{0, 0, 0, 0, 1, 7, 30_000}[h.choose(7)])
	if len(h.o.jobs) == 0 {
		id = ID([]int{0, 1, 5_000_000_000}[h.choose(3)])
	}
	if h.choose(30) == 0 {
		id = h.last // too late
	}
	s := &Spec{Require: h.names(2), Prefer: h.names(2), Priority: uint8(h.choose(3))}
	if h.choose(6) == 0 {
		s.NotBefore = h.now + int64(h.choose(8000))
	}
	if ids := h.o.ids(); len(ids) > 0 && h.choose(5) == 0 {
		s.After = []ID{ids[h.choose(len(ids))], ids[h.choose(len(ids))]}
	}
	if h.choose(8) == 0 {
		s.Key = string(rune('k' + h.choose(3)))
	}
	if h.choose(4) == 0 {
		s.Group = string(rune('x' + h.choose(2)))
	}
	return h.one("submit", func() (Decision, error) {
		d, err := h.q.Submit(h.now, id, s)
		if err == nil && d.Kind == Submitted {
			h.last = id
		}
		return d, err
	})
}

func (h *history) poll() error {
	p := &Poll{Agent: h.agent(), N: 1, Policy: Policy(h.choose(3)), Delay: int64(h.choose(6000))}
	if h.o.agents[p.Agent] == nil {
		if _, _, err := h.q.Poll(nil, h.now, p); !errors.Is(err, ErrAgent) {
			return fmt.Errorf("poll of an unknown agent: %v", err)
		}
		return nil
	}
	for range 1 + h.choose(3) {
		want, ok := h.o.pick(h.now, p)
		ds, retry, err := h.q.Poll(nil, h.now, p)
		if err != nil || len(ds) > 1 || ok != (len(ds) == 1) || ok && ds[0].ID != want {
			return fmt.Errorf("poll %+v got %+v, %v; want job %d, %v", p, ds, err, want, ok)
		}
		if !ok && retry > 0 {
			if retry <= h.now {
				return fmt.Errorf("poll %+v at %d: again at %d", p, h.now, retry)
			}
			if id, early := h.o.pick(retry-1, p); early {
				return fmt.Errorf("poll %+v: again at %d, but job %d could be had before", p, retry, id)
			}
		}
		if err := h.did("poll", ds...); err != nil {
			return err
		}
	}
	return nil
}

// step makes one random operation.
func (h *history) step() error {
	h.now += int64(h.choose(2) * h.choose(4000))
	switch h.choose(17) {
	case 0, 1, 2:
		return h.submit()
	case 3, 4, 5, 6:
		return h.poll()
	case 7, 8:
		id, attempt := h.job()
		agent := h.holder(id)
		return h.one("complete", func() (Decision, error) { return h.q.Complete(h.now, agent, id, attempt) })
	case 9:
		id, attempt := h.job()
		agent := h.holder(id)
		return h.one("fail", func() (Decision, error) {
			if h.choose(4) == 0 {
				return h.q.FailForGood(h.now, agent, id, attempt)
			}
			return h.q.Fail(h.now, agent, id, attempt)
		})
	case 10:
		id, attempt := h.job()
		agent := h.holder(id)
		return h.one("return", func() (Decision, error) { return h.q.Return(h.now, agent, id, attempt) })
	case 11:
		id, _ := h.job()
		return h.one("cancel", func() (Decision, error) {
			if h.choose(2) == 0 {
				return Decision{}, nil
			}
			return h.q.Cancel(h.now, id)
		})
	case 12:
		id, _ := h.job()
		return h.one("redo", func() (Decision, error) { return h.q.Redo(h.now, id) })
	case 13:
		p := &Profile{Has: h.names(3), Slots: h.choose(2) * h.choose(4)}
		return h.one("declare", func() (Decision, error) { return h.q.Declare(h.now, h.agent(), p) })
	case 14:
		limit := 1 + h.choose(5)
		ds, err := h.q.Tick(nil, h.now, limit)
		if err == nil {
			err = h.did("tick", ds...)
		}
		if err == nil && len(ds) < limit {
			err = h.o.overdue(h.now)
		}
		return err
	case 15:
		id, attempt := h.job()
		ds, _ := h.q.Heartbeat(nil, h.now, h.holder(id), []Held{{id, attempt}})
		return h.did("heartbeat", ds...)
	}
	return h.rare()
}

func (h *history) rare() error {
	switch h.choose(7) {
	case 6:
		h.now += int64(h.choose(2)*h.choose(50)) * 24 * 3600 * 1000
		return nil
	case 0:
		ds, err := h.q.Pause(nil, h.now, h.choose(2) == 0)
		if err != nil {
			return err
		}
		return h.did("pause", ds...)
	case 1, 2:
		return h.one("resume", func() (Decision, error) { return h.q.Resume(h.now) })
	case 3:
		if agent := h.agent(); h.o.agents[agent] != nil {
			ds, err := h.q.Down(nil, h.now, agent)
			if err != nil {
				return err
			}
			return h.did("down", ds...)
		}
		return nil
	case 4:
		return h.one("evict", func() (Decision, error) { return h.q.Evict(h.now, h.last-min(h.last, ID(h.choose(70_000)))) })
	}
	if h.restore == nil {
		var err error
		if h.restore, err = Restore(h.cfg, h.q.Snapshot()); err != nil {
			return err
		}
		if got := h.restore.Snapshot(); !reflect.DeepEqual(got, h.q.Snapshot()) {
			return errors.New("the snapshot of a restored queue differs")
		}
	}
	return nil
}

// end compares the queue with a replay of all decisions, and with the restored one.
func (h *history) end() error {
	replay, err := New(h.cfg)
	if err != nil {
		return err
	}
	for i := range h.log {
		if err := replay.Apply(&h.log[i]); err != nil {
			return fmt.Errorf("the replay refuses %+v: %w", h.log[i], err)
		}
	}
	if err := h.store.compare(h.cfg, h.q); err != nil {
		return err
	}
	last, err := Restore(h.cfg, h.q.Snapshot())
	if err != nil {
		return fmt.Errorf("restore at the end: %w", err)
	}
	for name, other := range map[string]*Queue{"replay from zero": replay, "snapshot and tail": h.restore, "last snapshot": last} {
		if other == nil {
			continue
		}
		if a, b := other.Snapshot(), h.q.Snapshot(); !reflect.DeepEqual(a, b) {
			return fmt.Errorf("%s: the state differs:\n%+v\n%+v", name, a, b)
		}
		if err := h.o.compare(other); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return h.sameFuture(replay)
}

// sameFuture makes the same requests to the queue, its replay and its restored copy.
func (h *history) sameFuture(replay *Queue) error {
	for h.now += 3000; h.choose(8) > 0; h.now += 6000 {
		p := &Poll{Agent: h.agent(), N: 3, Policy: Greedy}
		var answers [][]Decision
		for _, q := range []*Queue{h.q, replay, h.restore} {
			if q == nil {
				continue
			}
			ds, err := q.Tick(nil, h.now, 100)
			if err != nil {
				return err
			}
			ds, _, _ = q.Poll(ds, h.now, p)
			answers = append(answers, ds)
		}
		for _, ds := range answers[1:] {
			if !reflect.DeepEqual(ds, answers[0]) {
				return fmt.Errorf("equal states decide %+v and %+v", answers[0], ds)
			}
		}
	}
	return nil
}

func (h *history) run(steps int) error {
	for range steps {
		if err := h.step(); err != nil {
			return err
		}
	}
	return h.end()
}

// TestHistories: after each of many random operations the maintained index equals the literal AND
// from the start, each job is in one state, the populations add up, and each poll gets the job that
// the oracle predicts. At the end, a replay of the decisions and a snapshot with the rest of the
// decisions have the same state, and decide the same from then on.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := newHistory(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		if err != nil {
			t.Fatal(err)
		}
		if err := h.run(rapid.IntRange(1, 120).Draw(t, "steps")); err != nil {
			t.Fatal(err)
		}
	})
}

// seeded returns a history by seed, with agents.
func seeded(t testing.TB, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 1))
	h, err := newHistory(rng.IntN)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"A", "B", "C"} {
		d, err := h.q.Declare(h.now, name, &Profile{Has: h.names(3)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.did("declare", d); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestLongHistories are longer histories than rapid makes, by seed. All operations occur.
func TestLongHistories(t *testing.T) {
	seen := map[string]int{}
	kinds := map[Kind]int{}
	for seed := range uint64(20) {
		h := seeded(t, seed)
		if err := h.run(250); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for op, n := range h.seen {
			seen[op] += n
		}
		for _, d := range h.log {
			kinds[d.Kind]++
		}
	}
	for _, op := range []string{"submit", "poll", "complete", "fail", "return", "cancel", "redo", "declare", "tick", "heartbeat", "pause", "down", "evict"} {
		if seen[op] < 3 {
			t.Errorf("operation %s occurred %d times", op, seen[op])
		}
	}
	for k := Submitted; k <= Evicted; k++ {
		if kinds[k] < 2 {
			t.Errorf("decisions of kind %d: %d", k, kinds[k])
		}
	}
}

// TestHistoriesCatch: the histories find each of these bugs.
func TestHistoriesCatch(t *testing.T) {
	class := func(q *Queue, id ID) (*pending, *level, uint32) {
		sig, n := q.class(id)
		return &q.levels[n].sets[sig], q.levels[n], sig
	}
	for name, bug := range map[string]func(q *Queue, d *Decision){
		"a signature is forgotten": func(q *Queue, d *Decision) {
			if d.Kind == Submitted && q.State(d.ID) == Pending && len(d.Spec.Require) == 1 {
				sig, _ := q.class(d.ID)
				for _, a := range q.agents {
					if a != nil {
						a.match.clear(sig)
					}
				}
			}
		},
		"a retry goes to the back": func(q *Queue, d *Decision) {
			if d.Kind != BecameDue || q.attempt(d.ID) == 0 {
				return
			}
			p, l, sig := class(q, d.ID)
			next, ok := p.find(q.matrix, func(id ID) bool { return id != d.ID })
			if ok && l.heads[sig] == d.ID {
				c, at := q.matrix.columns(next)
				l.setHead(sig, next, c.sinceOf(at))
			}
		},
		"an association is lost": func(q *Queue, d *Decision) {
			if a := q.agents; d.Kind == Started && d.Learn {
				x := a[q.byName[d.Agent]]
				x.learned = x.learned[:len(x.learned)-1]
			}
		},
		"an association is not seen": func(q *Queue, d *Decision) {
			if d.Kind == Started && d.Learn {
				q.agents[q.byName[d.Agent]].local = nil
			}
		},
		"a canceled job stays pending": func(q *Queue, d *Decision) {
			if d.Kind == CanceledBy {
				c, at := q.matrix.columns(d.ID)
				c.vectors[Pending] = &bitVector{}
				c.vectors[Pending][at/64] |= 1 << (at % 64)
			}
		},
		"a claim is not released": func(q *Queue, d *Decision) {
			if d.Kind == AgentDown {
				q.sigs.taken.or(slices.Concat(q.sigs.taken, vector{1}))
				for i := range q.sigs.rows {
					if len(q.sigs.rows[i].prefer) > 0 {
						q.sigs.taken.set(uint32(i))
					}
				}
			}
		},
		"the bound on waiting is forgotten": func(q *Queue, _ *Decision) {
			for _, l := range q.levels {
				if l != nil {
					l.oldest = never
				}
			}
		},
		"a retry is not fenced": func(q *Queue, d *Decision) {
			if d.Kind == Started && d.Attempt > 1 {
				c, at := q.matrix.columns(d.ID)
				c.attempt[at] = 1
			}
		},
		"a returned job loses a try": func(q *Queue, d *Decision) {
			if d.Kind == Returned {
				delete(q.spared, d.ID)
			}
		},
		"a renewal is lost": func(q *Queue, d *Decision) {
			if d.Kind == Renewed {
				r := q.runs[d.ID]
				r.until = r.timer
				q.runs[d.ID] = r
			}
		},
		"a timer is lost": func(q *Queue, d *Decision) {
			if d.Kind == Retried && len(q.timers) > 0 {
				q.timers.pop()
			}
		},
		"the monitor does not see a start": func(q *Queue, d *Decision) {
			if d.Kind == Started {
				q.monitor.enqueued(q, q.matrix.segment(d.ID).open.class[d.ID%segmentSize]>>4)
			}
		},
		"the blacklist is forgotten": func(q *Queue, d *Decision) {
			for _, a := range q.agents {
				if a != nil {
					a.avoid = nil
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				h := seeded(t, seed)
				h.bug = bug
				if err := h.run(150); err != nil {
					return
				}
			}
			t.Error("the bug was not found")
		})
	}
}
