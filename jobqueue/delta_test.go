package jobqueue

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// rowStore has the rows of a queue, as a table of a database would: those of each Delta.
type rowStore struct {
	specs    map[ID]Spec
	rows     Snapshot
	segments map[ID]SegmentRow
	jobs     map[ID]JobRow
	agents   map[string]AgentRow
	means    map[string]MeanRow
	bug      func(d *Delta) // changes what the store gets
}

func newRowStore() *rowStore {
	return &rowStore{
		specs: map[ID]Spec{}, segments: map[ID]SegmentRow{}, jobs: map[ID]JobRow{}, agents: map[string]AgentRow{}, means: map[string]MeanRow{},
	}
}

// take takes decisions and the delta after them.
func (s *rowStore) take(q *Queue, ds []Decision) {
	for i := range ds {
		if ds[i].Kind == Submitted {
			s.specs[ds[i].ID] = *ds[i].Spec
		}
	}
	d := q.Delta()
	if d == nil {
		return
	}
	if s.bug != nil {
		s.bug(d)
	}
	s.rows.Now, s.rows.Paused, s.rows.Filled, s.rows.Last, s.rows.Gone = d.Now, d.Paused, d.Filled, d.Last, d.Gone
	s.rows.Names = append(s.rows.Names, d.Names...)
	for _, row := range d.Jobs {
		spec := s.specs[row.ID]
		row.Spec.Require, row.Spec.Prefer, row.Spec.Priority = spec.Require, spec.Prefer, spec.Priority
		row.Spec.Key, row.Spec.Group = spec.Key, spec.Group
		if spec.Key != "" {
			row.Hash = Fingerprint(&spec)
		}
		s.jobs[row.ID] = row
	}
	for _, row := range d.Segments {
		if s.segments[row.First] = row; !row.Closed {
			continue
		}
		for id := row.First; id < row.First+segmentSize; id++ {
			delete(s.jobs, id)
		}
	}
	for _, row := range d.Agents {
		s.agents[row.Name] = row
	}
	for _, name := range d.Down {
		delete(s.agents, name)
	}
	for _, row := range d.Means {
		key := fmt.Sprintf("%q %q", row.Require, row.Prefer)
		if s.means[key] = row; row.Ms == 0 {
			delete(s.means, key)
		}
	}
}

// ascending returns the values of m, sorted.
func ascending[K comparable, V any](m map[K]V, compare func(a, b V) int) (rows []V) {
	for _, row := range m {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compare)
	return rows
}

// restore returns the queue of the rows.
func (s *rowStore) restore(cfg Config) (*Queue, error) {
	s.rows.Segments = ascending(s.segments, func(a, b SegmentRow) int { return cmp.Compare(a.First, b.First) })
	s.rows.Jobs = ascending(s.jobs, func(a, b JobRow) int { return cmp.Compare(a.ID, b.ID) })
	s.rows.Agents = ascending(s.agents, compareAgents)
	s.rows.Means = ascending(s.means, compareMeans)
	return Restore(cfg, &s.rows)
}

// compare returns an error if the queue of the rows is another one.
func (s *rowStore) compare(cfg Config, q *Queue) error {
	restored, err := s.restore(cfg)
	if err != nil {
		return fmt.Errorf("restore from rows of deltas: %w", err)
	}
	if a, b := restored.Snapshot(), q.Snapshot(); !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the rows of the deltas are those of another state:\n%+v\n%+v", a, b)
	}
	return nil
}

// TestDeltaOfNothing: there is no delta without a decision, nor before Track. A restored queue
// records what comes after it.
func TestDeltaOfNothing(t *testing.T) {
	q, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Submit(1000, 7, &Spec{Require: []string{"gpu"}}); err != nil || q.Delta() != nil {
		t.Fatalf("before Track: %v", err)
	}
	q.Track()
	if _, err := q.Cancel(1000, 8); err == nil || q.Delta() != nil {
		t.Errorf("after a refused request: %v", err)
	}
	if q, err = Restore(Config{}, q.Snapshot()); err != nil {
		t.Fatal(err)
	}
	q.Track()
	if _, err := q.Cancel(2000, 7); err != nil {
		t.Fatal(err)
	}
	d := q.Delta()
	if want := []JobRow{{ID: 7, State: Canceled}}; !reflect.DeepEqual(d.Jobs, want) || d.Now != 2000 || d.Last != 7 || len(d.Names)+len(d.Segments) > 0 {
		t.Errorf("the delta of a cancellation is %+v", d)
	}
	if d := q.Delta(); d != nil {
		t.Errorf("repeated: %+v", d)
	}
}

// TestDeltaCatches: the histories find rows that a delta lacks.
func TestDeltaCatches(t *testing.T) {
	for name, bug := range map[string]func(d *Delta){
		"a job":     func(d *Delta) { d.Jobs = d.Jobs[:max(0, len(d.Jobs)-1)] },
		"an agent":  func(d *Delta) { d.Agents = nil },
		"a name":    func(d *Delta) { d.Names = nil },
		"a segment": func(d *Delta) { d.Segments = nil },
		"a mean":    func(d *Delta) { d.Means = nil },
		"a leaver":  func(d *Delta) { d.Down = nil },
		"the time":  func(d *Delta) { d.Now = 0 },
		"a pause":   func(d *Delta) { d.Paused = false },
		"evictions": func(d *Delta) { d.Gone = 0 },
	} {
		found := false
		for seed := uint64(0); seed < 20 && !found; seed++ {
			h := seeded(t, seed)
			h.store.bug = bug
			found = h.run(250) != nil
		}
		if !found {
			t.Errorf("without %s the rows were right in 20 histories", name)
		}
	}
}
