package jobqueue

import (
	"fmt"
	"sync"
	"testing"
)

// compareStates returns the first job whose state is not that of the queue.
func (q *Queue) compareStates(s *States) error {
	for id := ID(0); id <= q.last+3; id++ {
		if got, want := s.State(id), q.State(id); got != want {
			return fmt.Errorf("job %d is %v for readers, and %v in the queue", id, got, want)
		}
	}
	return nil
}

// TestStates: readers see the changes of a delta when they are taken, and not before; also those of
// segments that were closed, and after a restart.
func TestStates(t *testing.T) {
	q := newQueue(t, Config{})
	q.Track()
	s := q.States()
	must(t)(q.Declare(0, "a", &Profile{}))
	for id := ID(70_000); id < 200_000; id += 7 {
		must(t)(q.Submit(0, id, &Spec{}))
	}
	take := func() {
		d := q.Delta()
		c := q.Changes(d)
		if err := q.compareStates(s); err == nil {
			t.Error("readers see a delta before it is taken")
		}
		if s.Take(c); q.compareStates(s) != nil {
			t.Error(q.compareStates(s))
		}
	}
	take()
	ds, _, err := q.Poll(nil, 1, &Poll{Agent: "a", N: 15_000, Policy: Greedy})
	if err != nil || len(ds) != 15_000 {
		t.Fatal(len(ds), err)
	}
	take()
	for i := range ds {
		if i%100 == 0 {
			must(t)(q.FailForGood(2, "a", ds[i].ID, 1))
		} else {
			must(t)(q.Complete(2, "a", ds[i].ID, 1))
		}
	}
	take()
	before := q.matrix.segment(70_000)
	must(t)(q.Evict(3, 131_072))
	if before == q.matrix.segment(70_000) {
		t.Fatal("the first segment is not closed")
	}
	d := q.Delta()
	if s.Take(q.Changes(d)); q.compareStates(s) != nil || s.m.segment(70_000).closed == nil {
		t.Errorf("after a segment was closed: %v", q.compareStates(s))
	}
	if err := q.compareStates(q.States()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// TestStatesReaders: readers on other goroutines see the state before or after a change.
func TestStatesReaders(t *testing.T) {
	q := newQueue(t, Config{})
	q.Track()
	must(t)(q.Declare(0, "a", &Profile{}))
	s := q.States()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := map[ID]State{}
			for {
				select {
				case <-done:
					return
				default:
				}
				for id := ID(0); id < 500; id++ {
					x := s.State(id)
					if x < last[id] { // Pending, Running and Done ascend
						t.Errorf("job %d was %v and is %v", id, last[id], x)
						return
					}
					last[id] = x
				}
			}
		})
	}
	for id := ID(0); id < 500; id++ {
		must(t)(q.Submit(0, id, &Spec{}))
		s.Take(q.Changes(q.Delta()))
		ds, _, err := q.Poll(nil, 0, &Poll{Agent: "a", N: 1, Policy: Greedy})
		if err != nil || len(ds) != 1 {
			t.Fatal(ds, err)
		}
		s.Take(q.Changes(q.Delta()))
		must(t)(q.Complete(0, "a", id, 1))
		s.Take(q.Changes(q.Delta()))
	}
	close(done)
	readers.Wait()
}
