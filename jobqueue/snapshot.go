package jobqueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Snapshot is the state of a queue as data. Equal states have equal snapshots: it has no number
// that depends on the history, and its lists are sorted.
type Snapshot struct {
	Now      int64
	Paused   bool
	Filled   bool // there was a job
	Last     ID
	Gone     ID       // see Evict
	Names    []string // of all resources that the queue had, ascending
	Segments []SegmentRow
	Jobs     []JobRow // of open segments
	Agents   []AgentRow
	Means    []MeanRow
}

// SegmentRow is a segment of 65,536 ids that begins at First.
type SegmentRow struct {
	First                    ID
	Base                     int64 // of an open segment: a time not after those of its jobs, Unix ms
	Closed                   bool
	Failed, Canceled, Absent []uint16 // of a closed segment: positions. The others are Done
}

// JobRow is a job in an open segment.
type JobRow struct {
	ID      ID
	Spec    Spec // of a Blocked job: After has the jobs that are not Done
	Hash    uint64
	State   State
	Attempt uint8
	Spared  uint8  // attempts that are not charged as tries
	Since   int64  // Pending: since when
	Until   int64  // Running: end of the lease. Delayed: when it is due
	Agent   string // Running
	Started int64  // Running
}

// AgentRow is an agent that is up.
type AgentRow struct {
	Name    string
	Profile Profile
	Learned []string // last used last
	Avoid   []Avoid  // oldest first
}

// Avoid is an entry of an agent's blacklist.
type Avoid struct {
	ID    ID
	Until int64
}

// MeanRow is the mean run time of a signature.
type MeanRow struct {
	Require, Prefer []string
	Ms              int64
}

// Snapshot returns the state of q.
func (q *Queue) Snapshot() *Snapshot {
	s := &Snapshot{Now: q.now, Paused: q.paused, Filled: q.filled, Last: q.last, Gone: q.gone}
	s.Names = slices.Sorted(slices.Values(q.sigs.names))
	s.Segments = q.matrix.rows()
	s.Jobs = q.jobRows()
	for _, a := range q.agents {
		if a == nil {
			continue
		}
		s.Agents = append(s.Agents, q.agentRow(a))
	}
	slices.SortFunc(s.Agents, compareAgents)
	for n, ms := range q.sigs.means {
		if q.sigs.rows[n].key != "" && ms > 0 {
			s.Means = append(s.Means, q.meanRow(uint32(n)))
		}
	}
	slices.SortFunc(s.Means, compareMeans)
	return s
}

func compareAgents(a, b AgentRow) int { return strings.Compare(a.Name, b.Name) }

func compareMeans(a, b MeanRow) int {
	return cmp.Or(slices.Compare(a.Require, b.Require), slices.Compare(a.Prefer, b.Prefer))
}

func (q *Queue) agentRow(a *agent) AgentRow {
	row := AgentRow{Name: a.name, Profile: Profile{Has: q.sigs.namesOf(a.list), Slots: a.slots}}
	for _, r := range a.learned {
		row.Learned = append(row.Learned, q.sigs.names[r])
	}
	for _, x := range a.avoid {
		row.Avoid = append(row.Avoid, Avoid{x.id, x.until})
	}
	return row
}

// meanRow returns the mean of a signature, by its number.
func (q *Queue) meanRow(signature uint32) MeanRow {
	row := &q.sigs.rows[signature]
	return MeanRow{q.sigs.namesOf(row.require), q.sigs.namesOf(row.prefer), q.sigs.means[signature]}
}

func (m *matrix) rows() (rows []SegmentRow) {
	d := m.dir.Load()
	if d == nil {
		return nil
	}
	for i := range d.segs {
		if d.segs[i].Load() != nil {
			rows = append(rows, m.row(ID((d.first+uint64(i))<<segmentBits)))
		}
	}
	return rows
}

// row returns the row of the segment that begins at first.
func (m *matrix) row(first ID) SegmentRow {
	row := SegmentRow{First: first}
	if s := m.segment(first); s.open != nil {
		row.Base = s.open.base
	} else {
		others := s.closed.list()
		row.Closed, row.Failed, row.Canceled, row.Absent = true, others[0], others[1], others[2]
	}
	return row
}

func (q *Queue) jobRows() (rows []JobRow) {
	keys, groups := map[ID]string{}, map[ID]string{}
	for k, x := range q.keys {
		keys[x.id] = k
	}
	for name, g := range q.groups {
		for it := g.Iterator(); it.HasNext(); {
			groups[ID(it.Next())] = name
		}
	}
	q.matrix.each(None, 0, func(id ID) bool {
		sig, priority := q.class(id)
		row := q.jobRow(id)
		s := &row.Spec
		s.Require, s.Prefer = q.sigs.namesOf(q.sigs.rows[sig].require), q.sigs.namesOf(q.sigs.rows[sig].prefer)
		s.Priority, s.Key, s.Group = uint8(priority), keys[id], groups[id]
		if s.Key != "" {
			row.Hash = q.keys[s.Key].hash
		}
		rows = append(rows, row)
		return true
	})
	return rows
}

// jobRow returns the row of a job without what its submission has.
func (q *Queue) jobRow(id ID) JobRow {
	c, at := q.matrix.columns(id)
	row := JobRow{ID: id, State: q.matrix.state(id), Attempt: c.attemptOf(at), Spared: q.spared[id]}
	switch row.State {
	case Pending:
		row.Since = c.sinceOf(at)
	case Delayed:
		row.Until = q.due[id]
	case Running:
		r := q.runs[id]
		row.Until, row.Started, row.Agent = r.until, r.started, q.agents[r.agent].name
	case Blocked:
		row.Spec.After, row.Spec.NotBefore = slices.Clone(q.block[id].left), q.block[id].notBefore
	default:
	}
	return row
}

// Restore returns the queue of a snapshot. It must have the settings of the queue that took it. The
// error wraps ErrInvalid.
func Restore(cfg Config, s *Snapshot) (*Queue, error) {
	return RestoreJobs(cfg, s, func(add func(*JobRow) error) error {
		for i := range s.Jobs {
			if err := add(&s.Jobs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// RestoreJobs is Restore for a snapshot whose jobs are not in memory all at once: jobs calls add
// for each, in ascending order, and returns its error. add does not keep the row. Jobs of s are not
// used.
func RestoreJobs(cfg Config, s *Snapshot, jobs func(add func(*JobRow) error) error) (*Queue, error) {
	q, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	q.sigs.max = max(q.sigs.max, len(s.Names)) // the limit may have been greater before
	for _, name := range s.Names {
		q.sigs.resource(name)
	}
	for i := range s.Agents {
		row := &s.Agents[i]
		if err := q.Apply(&Decision{Kind: AgentUp, Agent: row.Name, Profile: &row.Profile}); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		a := q.agents[q.byName[row.Name]]
		for _, name := range row.Learned {
			r := q.sigs.resource(name)
			a.learned = append(a.learned, r)
			q.sigs.claim(r, 1)
		}
		for _, x := range row.Avoid {
			a.avoid = append(a.avoid, avoided{x.ID, x.Until})
		}
	}
	for i := range s.Segments {
		q.matrix.restore(&s.Segments[i])
	}
	last, some := ID(0), false
	err = jobs(func(row *JobRow) error {
		if row.ID > s.Last || some && row.ID <= last {
			return fmt.Errorf("snapshot: %w job %d: jobs must ascend to the last, %d", ErrInvalid, row.ID, s.Last)
		}
		if err := q.checkRow(row); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		q.restore(row)
		last, some = row.ID, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, row := range s.Means {
		n := q.intern(row.Require, row.Prefer)
		q.sigs.means[n] = row.Ms
	}
	if len(q.sigs.names) > len(s.Names) {
		return nil, fmt.Errorf("snapshot: %w list of names: it lacks %q", ErrInvalid, q.sigs.names[len(s.Names):])
	}
	q.sigs.max = q.cfg.MaxResources
	q.now, q.paused, q.filled, q.last, q.gone = s.Now, s.Paused, s.Filled, s.Last, s.Gone
	q.matrix.flows = [states][states]uint64{}
	return q, nil
}

func (m *matrix) restore(row *SegmentRow) {
	m.make(row.First, row.Base)
	if !row.Closed {
		return
	}
	m.counts[Failed] += uint64(len(row.Failed))
	m.counts[Canceled] += uint64(len(row.Canceled))
	m.counts[Done] += segmentSize - uint64(len(row.Failed)+len(row.Canceled)+len(row.Absent))
	d := m.dir.Load()
	closed := newFinals([3][]uint16{row.Failed, row.Canceled, row.Absent})
	d.segs[uint64(row.First)>>segmentBits-d.first].Store(&segment{closed: closed})
}

func (q *Queue) restore(row *JobRow) {
	c, at := q.matrix.columns(row.ID)
	sig := q.intern(row.Spec.Require, row.Spec.Prefer)
	q.sigs.rows[sig].jobs++
	c.add(at, sig<<4|uint32(row.Spec.Priority))
	if row.Attempt > 0 {
		c.setAttempt(at, row.Attempt)
	}
	if row.Spared > 0 {
		q.spared[row.ID] = row.Spared
	}
	if row.Spec.Key != "" {
		q.keys[row.Spec.Key] = submission{row.ID, row.Hash}
		c.keyed = append(c.keyed, keyed{row.ID, row.Spec.Key})
	}
	q.join(c, row.ID, row.Spec.Group)
	q.matrix.move(row.ID, None, row.State)
	switch row.State {
	case Pending:
		q.now = row.Since
		q.enqueue(row.ID)
	case Delayed:
		q.due[row.ID] = row.Until
		q.arm(row.Until, row.ID)
	case Blocked:
		q.hold(row.ID, blocked{slices.Clone(row.Spec.After), row.Spec.NotBefore})
	case Running:
		n := q.byName[row.Agent]
		q.runs[row.ID] = run{agent: n, attempt: row.Attempt, started: row.Started, until: row.Until, timer: row.Until}
		q.agents[n].running++
		q.arm(row.Until, row.ID)
	default:
	}
}
