package jobqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPendingAgainstList: the set of pending jobs against a sorted list, with jobs that enter in
// any order, leave from any place and enter again, over many chunks.
func TestPendingAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		m, p, last := &matrix{}, pending{}, ID(0)
		var in, out []ID // sorted; of any order
		for range 2000 {
			switch x := rng.IntN(10); {
			case x < 5 || len(in) == 0:
				last += ID(1 + rng.IntN(2)*rng.IntN(300))
				m.make(last, 0).add(uint32(last%segmentSize), 0)
				m.move(last, None, Pending)
				p.add(last)
				in = append(in, last)
			case x < 8: // from the front, or from any place
				i := rng.IntN(2) * rng.IntN(len(in))
				m.move(in[i], Pending, Canceled)
				p.remove(m, in[i])
				out = append(out, in[i])
				in = slices.Delete(in, i, i+1)
			case len(out) > 0:
				i := rng.IntN(len(out))
				m.move(out[i], Canceled, Pending)
				p.add(out[i])
				at, _ := slices.BinarySearch(in, out[i])
				in = slices.Insert(in, at, out[i])
				out = slices.Delete(out, i, i+1)
			}
			if p.n != len(in) {
				t.Fatalf("%d jobs, want %d", p.n, len(in))
			}
			if len(in) == 0 {
				continue
			}
			if got, ok := p.head(m); !ok || got != in[0] {
				t.Fatalf("head %d, %v; want %d", got, ok, in[0])
			}
			if extra := p.queued - 2*p.n; extra > chunkSize {
				t.Fatalf("%d ids in the queue of %d jobs", p.queued, p.n)
			}
			i := rng.IntN(min(len(in), 20))
			if got, ok := p.find(m, func(id ID) bool { return id >= in[i] }); !ok || got != in[i] {
				t.Fatalf("found %d, %v; want %d", got, ok, in[i])
			}
		}
	})
}

// ahead returns how many entries a search of the set of job's class steps over before job.
func ahead(q *Queue, job ID) (n int) {
	sig, priority := q.class(job)
	p := q.levels[priority].sets[sig]
	if p.early != nil {
		for it := p.early.Iterator(); it.HasNext() && ID(it.Next()) < job; {
			n++
		}
	}
	for p.chunks = slices.Clone(p.chunks); p.filled && p.first < job; p.pop() {
		n++
	}
	return n
}

// TestAvoidedHeadStays: while the head is on the agent's blacklist, the jobs behind it start, and
// the next search does not step over them. A search that does takes quadratic time. The head is in
// the queue if it was alone when it returned, and in the bitmap otherwise.
func TestAvoidedHeadStays(t *testing.T) {
	const jobs = 2000
	for _, alone := range []bool{true, false} {
		q := newQueue(t, Config{Blacklist: time.Hour})
		must(t)(q.Declare(0, "a", &Profile{}))
		submit := func(n ID) {
			must(t)(q.Submit(0, n, &Spec{}))
		}
		submit(0)
		if !alone {
			submit(1)
		}
		start(t, q, "a", 0)
		must(t)(q.Return(0, "a", 0, 1))
		for id := q.last + 1; id < jobs; id++ {
			submit(id)
		}
		for id := ID(1); id < jobs-1; id++ {
			start(t, q, "a", id)
			if id%7 == 0 { // a retry of another agent
				must(t)(q.Return(0, "a", id, 1))
				q.agents[0].avoid = q.agents[0].avoid[:1]
				start(t, q, "a", id)
			}
			if n := ahead(q, id+1); n > 2 {
				t.Fatalf("alone %v: after job %d, %d entries are before the next one", alone, id, n)
			}
		}
	}
}

// TestCanceledBehindHead: jobs that are canceled behind a head that no agent can run leave nothing
// behind.
func TestCanceledBehindHead(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Submit(0, 0, &Spec{}))
	for id := ID(1); id < 5000; id++ {
		must(t)(q.Submit(0, id, &Spec{}))
		must(t)(q.Cancel(0, id))
	}
	must(t)(q.Submit(0, 5000, &Spec{}))
	if n := ahead(q, 5000); n > 2*chunkSize {
		t.Errorf("%d entries are before the second job", n)
	}
}

// TestTimers: timers come in the order of time and id, also after stale ones were removed.
func TestTimers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var h timers
	var want []timer
	for range 2000 {
		x := timer{rng.Int64N(100), ID(rng.IntN(1000))}
		h.push(x)
		if x.id%2 == 0 {
			want = append(want, x)
		}
	}
	h.keep(func(x timer) bool { return x.id%2 == 0 })
	slices.SortFunc(want, func(a, b timer) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.id) - int(b.id)
	})
	for i := range want {
		if got := h.pop(); got != want[i] {
			t.Fatalf("timer %d is %v, want %v", i, got, want[i])
		}
	}
}

// TestStaleTimers: leases that ended early leave no timers behind.
func TestStaleTimers(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 0, &Spec{}))
	start(t, q, "a", 0) // it stays
	for id := ID(1); id < 5000; id++ {
		must(t)(q.Submit(0, id, &Spec{}))
		start(t, q, "a", id)
		must(t)(q.Complete(0, "a", id, 1))
	}
	if len(q.timers) > 1100 {
		t.Errorf("%d timers of one running job", len(q.timers))
	}
	if ds := tick(t, q, 60_000); len(ds) != 1 || ds[0].ID != 0 {
		t.Errorf("the lease of the running job: %+v", ds)
	}
}
