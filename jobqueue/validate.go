package jobqueue

import (
	"fmt"
	"math"
)

// validate returns an error if a queue cannot have the state, whatever its jobs are.
func (s *Snapshot) validate() error {
	if err := validNames(s.Names, math.MaxInt); err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	return s.validateSegments()
}

// checkRow returns an error if the queue, with the jobs before, cannot have a job.
func (q *Queue) checkRow(row *JobRow) error {
	switch seg := q.matrix.segment(row.ID); {
	case seg == nil || seg.open == nil:
		return fmt.Errorf("%w job %d: no open segment has it", ErrInvalid, row.ID)
	case !row.valid(q.byName):
		return fmt.Errorf("%w job %d: state %d with agent %q and attempt %d, %d spared", ErrInvalid, row.ID, row.State, row.Agent,
			row.Attempt, row.Spared)
	}
	if err := row.Spec.Validate(); err != nil {
		return fmt.Errorf("job %d: %w", row.ID, err)
	}
	return q.checkAfter(row)
}

func (s *Snapshot) validateSegments() error {
	if s.Gone%segmentSize != 0 || s.Gone > 0 && (!s.Filled || s.Gone-1 > s.Last) {
		return fmt.Errorf("%w eviction of jobs below %d: the last job is %d", ErrInvalid, s.Gone, s.Last)
	}
	last := len(s.Segments) - 1
	if s.Filled != (last >= 0) || s.Filled && s.Segments[last].First != s.Last-s.Last%segmentSize {
		return fmt.Errorf("%w list of segments: the last one of a queue has its last job, which is %d", ErrInvalid, s.Last)
	}
	for i := range s.Segments {
		row := &s.Segments[i]
		ascends := i == 0 || row.First > s.Segments[i-1].First && row.First-s.Segments[i-1].First <= maxStep
		switch {
		case row.First%segmentSize != 0 || !ascends:
			return fmt.Errorf("%w segment at %d: segments must ascend, and begin at a multiple of %d", ErrInvalid, row.First, segmentSize)
		case row.Closed && row.First >= s.Gone:
			return fmt.Errorf("%w segment at %d: it is closed, and jobs below %d are evicted", ErrInvalid, row.First, s.Gone)
		}
		var seen vector
		for _, list := range [][]uint16{row.Failed, row.Canceled, row.Absent} {
			for j, at := range list {
				if seen.has(uint32(at)) || j > 0 && at <= list[j-1] {
					return fmt.Errorf("%w segment at %d: positions must ascend, each in one list", ErrInvalid, row.First)
				}
				seen.set(uint32(at))
			}
		}
	}
	return nil
}

// valid reports whether the state, the agent and the attempts of a job agree. All attempts are
// spared after a return or a redo. The one that runs is not.
func (r *JobRow) valid(agents map[string]int) bool {
	switch {
	case r.State == None || r.State >= states || r.Spared > r.Attempt:
		return false
	case r.State == Running:
		_, up := agents[r.Agent]
		return up && r.Agent != "" && r.Spared < r.Attempt
	case r.State.Terminal() && r.Spared > 0:
		return false
	}
	return r.Agent == ""
}

// checkAfter checks the jobs that a Blocked job waits for.
func (q *Queue) checkAfter(row *JobRow) error {
	if row.State != Blocked {
		return nil
	}
	bad := len(row.Spec.After) == 0
	for i, x := range row.Spec.After {
		seg := q.matrix.segment(x)
		known := x < row.ID && seg != nil && seg.open != nil && q.matrix.state(x) != None
		bad = bad || !known || q.matrix.state(x) == Done || i > 0 && x <= row.Spec.After[i-1]
	}
	if bad {
		return fmt.Errorf("%w job %d: it is blocked by %d, which must be earlier jobs that are not Done, ascending", ErrInvalid, row.ID,
			row.Spec.After)
	}
	return nil
}
