package jobqueue

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// finish submits n jobs from id on, starts them all and ends them: each 10th fails, each 100th is
// canceled, others are Done. Each 7th id has no job.
func finish(t testing.TB, q *Queue, from, n int) {
	t.Helper()
	for id := from; id < from+n; id++ {
		if id%7 == 6 {
			continue
		}
		spec := &Spec{Require: []string{fmt.Sprint("r", id>>segmentBits)}, Group: "g"}
		if id%1000 == 0 {
			spec.Key = fmt.Sprint("k", id)
		}
		must(t)(q.Submit(0, ID(id), spec))
		ds, _, err := q.Poll(nil, 0, &Poll{Agent: "a", N: 1})
		if err != nil || len(ds) != 1 {
			t.Fatalf("%+v, %v", ds, err)
		}
		end(t, q, ds[0].ID)
	}
}

func end(t testing.TB, q *Queue, id ID) {
	t.Helper()
	switch final(id) {
	case Canceled:
		must(t)(q.Cancel(0, id))
	case Failed:
		must(t)(q.FailForGood(0, "a", id, q.attempt(id)))
	default:
		must(t)(q.Complete(0, "a", id, q.attempt(id)))
	}
}

func final(id ID) State {
	switch {
	case id%7 == 6:
		return None
	case id%100 == 0:
		return Canceled
	case id%10 == 0:
		return Failed
	}
	return Done
}

// TestEvict: of evicted jobs the states remain, and nothing else: no key, group or signature. A
// segment with a job that runs stays until the job has ended.
func TestEvict(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"r0", "r1", "r2"}}))
	must(t)(q.Submit(0, 0, &Spec{Require: []string{"r0"}, Key: "first"}))
	start(t, q, "a", 0) // it runs until the end
	finish(t, q, 1, 2*segmentSize+10)
	must(t)(q.Evict(0, 2*segmentSize+5)) // two whole segments
	counts := q.Counts()
	check := func(q *Queue) {
		t.Helper()
		for id := ID(1); id < 2*segmentSize+11; id++ {
			if got := q.State(id); got != final(id) {
				t.Fatalf("job %d is %v, want %v", id, got, final(id))
			}
		}
	}
	check(q)
	if q.matrix.segment(0).open == nil || q.matrix.segment(segmentSize).open != nil || len(q.sigs.byKey) != 2 {
		t.Fatal("the first segment is closed, or the second is open, or its signature remains")
	}
	if n := q.GroupCounts("g"); n[Done] == 0 || n[Done] > segmentSize {
		t.Errorf("group: %v", n)
	}
	for _, id := range []ID{10, 100, segmentSize + 4, segmentSize + 24} {
		if _, err := q.Redo(0, id); !errors.Is(err, ErrEvicted) && final(id) != None {
			t.Errorf("redo of job %d, which is %v: %v", id, final(id), err)
		}
	}
	if _, err := q.Complete(0, "a", segmentSize+1, 1); !errors.Is(err, ErrEvicted) {
		t.Errorf("completion of an evicted job: %v", err)
	}
	if _, err := q.Why(0, segmentSize+1); !errors.Is(err, ErrEvicted) {
		t.Errorf("why of an evicted job: %v", err)
	}
	must(t)(q.Complete(0, "a", 0, 1))
	if q.matrix.segment(0).open != nil || q.State(0) != Done || len(q.keys) != 0 {
		t.Errorf("the first segment is open, or job 0 is %v, or keys remain: %v", q.State(0), q.keys)
	}
	check(q)
	if counts[Running]--; counts[Running] == 0 {
		counts[Done]++
	}
	if q.Counts() != counts {
		t.Errorf("populations %v, want %v", q.Counts(), counts)
	}
	restored, err := Restore(Config{}, q.Snapshot())
	if err != nil || !reflect.DeepEqual(restored.Snapshot(), q.Snapshot()) || restored.Counts() != q.Counts() {
		t.Fatalf("restored: %v, populations %v", err, restored.Counts())
	}
	check(restored)
	if d, err := restored.Submit(0, 2*segmentSize+11, &Spec{After: []ID{1, segmentSize + 1}}); err != nil || d.Kind != Submitted {
		t.Errorf("a job after evicted jobs that are Done: %+v, %v", d, err)
	}
	if _, err := restored.Submit(0, 2*segmentSize+12, &Spec{After: []ID{10}}); !errors.Is(err, ErrEvicted) {
		t.Errorf("a job after an evicted job that failed: %v", err)
	}
}

// TestEvictGroups: a segment that closes leaves its groups, and no other group is looked at.
func TestEvictGroups(t *testing.T) {
	q := newQueue(t, Config{})
	for id, group := range []string{"x", "y", "x", ""} {
		must(t)(q.Submit(0, ID(id), &Spec{Group: group}))
		must(t)(q.Cancel(0, ID(id)))
	}
	must(t)(q.Submit(0, segmentSize, &Spec{Group: "y"}))
	q.groups["elsewhere"] = roaring64.New() // empty, so a visit would remove it
	must(t)(q.Evict(0, segmentSize))
	if got := q.Groups(); !slices.Equal(got, []string{"elsewhere", "y"}) || q.GroupCounts("y") != [8]uint64{Pending: 1} {
		t.Errorf("groups %v; y: %v", got, q.GroupCounts("y"))
	}
}

// TestReaders: other goroutines read states while the queue works. Each job is in a state that may
// follow the one that was read before, also when its segment is closed.
func TestReaders(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"r0", "r1"}}))
	const last = segmentSize + 1000
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for reader := range 2 {
		wg.Go(func() {
			seen := map[ID]State{}
			for id := ID(reader); ; id = (id + 997) % last {
				s := q.State(id)
				if s < seen[id] || s.Terminal() && s != final(id) {
					t.Errorf("job %d was %v and is %v", id, seen[id], s)
					return
				}
				seen[id] = s
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	finish(t, q, 0, last)
	must(t)(q.Evict(0, segmentSize))
	close(stop)
	wg.Wait()
}

// TestSignatureExplosion: jobs that all have their own signature are picked, and forgotten.
func TestSignatureExplosion(t *testing.T) {
	q := newQueue(t, Config{MaxResources: 20_000, Lease: time.Hour})
	must(t)(q.Declare(0, "a", &Profile{}))
	const jobs = 15_000
	for id := range ID(jobs) {
		must(t)(q.Submit(0, id, &Spec{Prefer: []string{fmt.Sprint(id)}}))
	}
	for id := range ID(20) {
		start(t, q, "a", id)
	}
	for _, id := range q.Select(&Selector{}) {
		must(t)(q.Cancel(0, id))
	}
	must(t)(q.Submit(0, segmentSize, &Spec{Require: []string{"0"}}))
	must(t)(q.Evict(0, segmentSize))
	words := 0
	for _, list := range slices.Concat(q.sigs.require, q.sigs.prefer) {
		words += cap(list)
	}
	if words > 1000 || len(q.sigs.taken) > 0 {
		t.Errorf("the inverted lists have %d words, and %d those that are taken", words, len(q.sigs.taken))
	}
	if len(q.sigs.byKey) != 1 || len(q.sigs.free) != jobs {
		t.Errorf("%d signatures remain, %d are free", len(q.sigs.byKey), len(q.sigs.free))
	}
	must(t)(q.Submit(0, segmentSize+1, &Spec{Require: []string{"1"}}))
	if len(q.sigs.rows) != jobs+1 {
		t.Errorf("%d rows: a free number was not used", len(q.sigs.rows))
	}
}
