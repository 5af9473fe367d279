package jobqueue

import (
	"errors"
	"testing"
)

// TestRestoreNames: the limit of resource names counts the names that no job and no agent has any
// more, also in a restored queue.
func TestRestoreNames(t *testing.T) {
	cfg := Config{MaxResources: 2}
	q := newQueue(t, cfg)
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"x"}}))
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 1, &Spec{Prefer: []string{"y"}}))
	must(t)(q.Cancel(0, 1))
	must(t)(q.Submit(0, segmentSize, &Spec{}))
	must(t)(q.Evict(0, segmentSize))
	restored, err := Restore(cfg, q.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]*Queue{"live": q, "restored": restored} {
		if _, err := q.Submit(0, segmentSize+1, &Spec{Require: []string{"z"}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: a third name: %v", name, err)
		}
		must(t)(q.Submit(0, segmentSize+2, &Spec{Require: []string{"x", "y"}}))
	}
	q, err = Restore(Config{MaxResources: 1}, q.Snapshot()) // the limit was greater before
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Submit(0, segmentSize+3, &Spec{Require: []string{"z"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a third name with a limit of one: %v", err)
	}
	must(t)(q.Submit(0, segmentSize+4, &Spec{Require: []string{"x"}}))
}

// TestRestoreRefuses: a snapshot that no queue can have is refused.
func TestRestoreRefuses(t *testing.T) {
	for name, damage := range map[string]func(s *Snapshot){
		"a job twice":                     func(s *Snapshot) { s.Jobs = append(s.Jobs, s.Jobs[0]) },
		"a job after the last":            func(s *Snapshot) { s.Last = 0 },
		"a job without a segment":         func(s *Snapshot) { s.Segments = nil },
		"a job in a closed segment":       func(s *Snapshot) { s.Segments[0].Closed = true },
		"a segment at an odd place":       func(s *Snapshot) { s.Segments[0].First = 1 },
		"a segment twice":                 func(s *Snapshot) { s.Segments = append(s.Segments, s.Segments[0]) },
		"a state that does not exist":     func(s *Snapshot) { s.Jobs[0].State = 9 },
		"a running job without its agent": func(s *Snapshot) { s.Agents = nil },
		"a running job without attempt":   func(s *Snapshot) { s.Jobs[0].Attempt = 0 },
		"a bad specification":             func(s *Snapshot) { s.Jobs[0].Spec.Priority = 16 },
		"a name that is not listed":       func(s *Snapshot) { s.Jobs[0].Spec.Require = []string{"x"} },
		"an empty name":                   func(s *Snapshot) { s.Names = []string{""} },
		"more spared attempts than tries": func(s *Snapshot) { s.Jobs[0].Spared = s.Jobs[0].Attempt },
		"spared attempts before any":      func(s *Snapshot) { s.Jobs[1].Spared = 1 },
		"no segment":                      func(s *Snapshot) { s.Segments, s.Jobs = nil, nil },
		"jobs of a queue without a job":   func(s *Snapshot) { s.Filled = false },
		"an eviction before any job":      func(s *Snapshot) { *s = Snapshot{Gone: segmentSize} },
		"an eviction of a part":           func(s *Snapshot) { s.Gone = 1 },
		"a closed segment that is not evicted": func(s *Snapshot) {
			s.Segments[0].Closed, s.Jobs = true, nil
		},
		"a position in two lists": func(s *Snapshot) {
			s.Segments[0].Failed, s.Segments[0].Absent = []uint16{1, 2}, []uint16{2}
		},
		"positions that do not ascend":   func(s *Snapshot) { s.Segments[0].Failed = []uint16{2, 1} },
		"a blocked job without a reason": func(s *Snapshot) { s.Jobs[1].Spec.After = nil },
		"a job blocked by itself":        func(s *Snapshot) { s.Jobs[1].Spec.After = []ID{2} },
		"a job blocked by no job":        func(s *Snapshot) { s.Jobs[1].Spec.After = []ID{0} },
		"a job blocked twice by another": func(s *Snapshot) { s.Jobs[1].Spec.After = []ID{1, 1} },
		"a job blocked by one that is Done": func(s *Snapshot) {
			s.Jobs[0].State, s.Jobs[0].Agent = Done, ""
		},
		"a bad agent": func(s *Snapshot) { s.Agents[1].Profile.Slots = -1 },
	} {
		q := queueWith(t, Running)
		must(t)(q.Submit(0, 2, &Spec{After: []ID{1}}))
		s := q.Snapshot()
		damage(s)
		if _, err := Restore(Config{}, s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
