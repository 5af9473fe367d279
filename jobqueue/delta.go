package jobqueue

import (
	"cmp"
	"slices"
)

// Delta is how a queue has changed, as rows of a Snapshot. A store that has the rows of a snapshot,
// and takes those of each delta since, has rows from which Restore makes the present queue. All
// lists ascend.
type Delta struct {
	Now    int64
	Paused bool
	Filled bool
	Last   ID
	Gone   ID
	Names  []string // new ones
	// Segments were opened or closed, or have another base. The jobs of a closed one have no rows.
	Segments []SegmentRow
	// Jobs are in open segments. Spec has only After and NotBefore, of a Blocked job: the rest is
	// that of the submission.
	Jobs   []JobRow
	Agents []AgentRow
	Down   []string  // agents that have no row any more
	Means  []MeanRow // Ms 0: the signature has no row any more
}

// changes are what decisions have changed since the last Delta. A nil value records nothing.
type changes struct {
	decided  bool // there was a decision
	names    int  // number of names at the last Delta
	jobs     []ID // with repetitions
	segments map[ID]struct{}
	agents   map[string]struct{}
	means    []uint32           // numbers of signatures, with repetitions
	dropped  map[string]MeanRow // of signatures that were removed, by key
}

// Track begins the recording of changes for Delta.
func (q *Queue) Track() {
	q.changed = &changes{
		names: len(q.sigs.names), segments: map[ID]struct{}{}, agents: map[string]struct{}{}, dropped: map[string]MeanRow{},
	}
	q.matrix.changed = q.changed
}

// Delta returns how the queue has changed since the last Delta, or since Track: nil if it has not.
func (q *Queue) Delta() *Delta {
	c := q.changed
	if c == nil || !c.decided {
		return nil
	}
	d := &Delta{Now: q.now, Paused: q.paused, Filled: q.filled, Last: q.last, Gone: q.gone}
	d.Names = slices.Sorted(slices.Values(q.sigs.names[c.names:]))
	for first := range c.segments {
		d.Segments = append(d.Segments, q.matrix.row(first))
	}
	slices.SortFunc(d.Segments, func(a, b SegmentRow) int { return cmp.Compare(a.First, b.First) })
	slices.Sort(c.jobs)
	for _, id := range slices.Compact(c.jobs) {
		if q.matrix.segment(id).open != nil {
			d.Jobs = append(d.Jobs, q.jobRow(id))
		}
	}
	for name := range c.agents {
		if n, up := q.byName[name]; up {
			d.Agents = append(d.Agents, q.agentRow(q.agents[n]))
		} else {
			d.Down = append(d.Down, name)
		}
	}
	slices.SortFunc(d.Agents, compareAgents)
	slices.Sort(d.Down)
	d.Means = q.changedMeans()
	c.clear(len(q.sigs.names))
	return d
}

// changedMeans returns the means that have changed.
func (q *Queue) changedMeans() (rows []MeanRow) {
	c := q.changed
	slices.Sort(c.means)
	for _, n := range slices.Compact(c.means) {
		if row := &q.sigs.rows[n]; row.key != "" && q.sigs.means[n] > 0 {
			delete(c.dropped, row.key)
			rows = append(rows, q.meanRow(n))
		}
	}
	for _, row := range c.dropped {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareMeans)
	return rows
}

// clear begins the next delta.
func (c *changes) clear(names int) {
	c.decided, c.names = false, names
	c.jobs, c.means = c.jobs[:0], c.means[:0]
	clear(c.segments)
	clear(c.agents)
	clear(c.dropped)
}

// decision records that a decision changes the queue.
func (c *changes) decision(d *Decision) {
	if c == nil {
		return
	}
	c.decided = true
	if _, ofJob := d.Kind.event(); ofJob || d.Kind == Renewed {
		c.jobs = append(c.jobs, d.ID)
	}
}

func (c *changes) job(id ID) {
	if c != nil {
		c.jobs = append(c.jobs, id)
	}
}

func (c *changes) segment(id ID) {
	if c != nil {
		c.segments[id-id%segmentSize] = struct{}{}
	}
}

func (c *changes) agent(name string) {
	if c != nil {
		c.agents[name] = struct{}{}
	}
}

func (c *changes) mean(signature uint32) {
	if c != nil {
		c.means = append(c.means, signature)
	}
}

// drop records that a signature is removed.
func (c *changes) drop(s *signatures, number uint32) {
	if c == nil || s.means[number] == 0 {
		return
	}
	row := &s.rows[number]
	c.dropped[row.key] = MeanRow{Require: s.namesOf(row.require), Prefer: s.namesOf(row.prefer)}
}
