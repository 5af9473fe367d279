package jobqueue

import (
	"errors"
	"testing"
)

// awaiting returns a queue with job 1, which failed, job 2, which was canceled, and job 65,536,
// which waits for both. All below 65,536 is evicted.
func awaiting(t *testing.T) *Queue {
	t.Helper()
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 1, &Spec{}))
	must(t)(q.Submit(0, 2, &Spec{}))
	must(t)(q.Submit(0, 3, &Spec{}))
	start(t, q, "a", 1)
	must(t)(q.FailForGood(0, "a", 1, 1))
	must(t)(q.Cancel(0, 2))
	must(t)(q.Cancel(0, 3))
	must(t)(q.Submit(0, segmentSize, &Spec{After: []ID{1, 2}}))
	must(t)(q.Evict(0, segmentSize))
	return q
}

// TestEvictAwaited: a failed job that another one waits for can be redone after an eviction. When
// the last such job is Done, its segment is closed.
func TestEvictAwaited(t *testing.T) {
	live := awaiting(t)
	restored, err := Restore(Config{}, live.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]*Queue{"live": live, "restored": restored} {
		if _, err := q.Redo(0, 3); !errors.Is(err, ErrEvicted) {
			t.Errorf("%s: redo of an evicted job for which none waits: %v", name, err)
		}
		if _, err := q.Submit(0, segmentSize+1, &Spec{After: []ID{1}}); !errors.Is(err, ErrEvicted) {
			t.Errorf("%s: another job after an evicted one: %v", name, err)
		}
		for id := ID(1); id <= 2; id++ {
			must(t)(q.Redo(0, id))
			must(t)(q.Complete(0, "a", id, start(t, q, "a", id).Attempt))
		}
		if got := q.State(segmentSize); got != Pending {
			t.Errorf("%s: the job is %v after the jobs that it waited for", name, got)
		}
		if q.matrix.segment(0).open != nil || len(q.waits) > 0 {
			t.Errorf("%s: the segment is open, or jobs are awaited: %v", name, q.waits)
		}
	}
}

// TestCancelAwaiting: when the last job that waits for an evicted job is canceled, the segment of
// the evicted job is closed.
func TestCancelAwaiting(t *testing.T) {
	q := awaiting(t)
	must(t)(q.Submit(0, segmentSize+1, &Spec{}))
	if q.matrix.segment(0).open == nil {
		t.Fatal("the segment is closed")
	}
	must(t)(q.Cancel(0, segmentSize))
	if q.matrix.segment(0).open != nil {
		t.Error("the segment is open")
	}
	if _, err := q.Redo(0, 1); !errors.Is(err, ErrEvicted) {
		t.Errorf("redo of an evicted job: %v", err)
	}
}

// TestWaitsForget: canceled jobs that waited leave nothing behind at the job that they waited for.
func TestWaitsForget(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Submit(0, 0, &Spec{}))
	for id := ID(1); id < 1000; id++ {
		must(t)(q.Submit(0, id, &Spec{After: []ID{0}}))
	}
	for id := ID(1); id < 990; id++ {
		must(t)(q.Cancel(0, id))
	}
	if n := len(q.waits[0].ids); n > 20 {
		t.Errorf("job 0 has %d jobs that wait for it, want 10, and as many canceled ones at most", n)
	}
	for id := ID(990); id < 1000; id++ {
		must(t)(q.Cancel(0, id))
	}
	if len(q.waits) > 0 {
		t.Errorf("no job waits: %v", q.waits)
	}
}
