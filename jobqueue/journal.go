package jobqueue

// Journal begins or ends the recording of decisions, for Decisions.
func (q *Queue) Journal(on bool) {
	if q.recorded = nil; on {
		q.recorded = []Decision{}
	}
}

// Decisions returns the decisions since the last call, or since Journal, in their order. Renewed
// ones are left out: they are most of all, and change no state. Where an attempt ends, Agent is the
// one that had the job.
func (q *Queue) Decisions() []Decision {
	if len(q.recorded) == 0 {
		return nil
	}
	list := q.recorded
	q.recorded = make([]Decision, 0, len(list))
	return list
}

// record records a decision that is going to be applied.
func (q *Queue) record(d *Decision) {
	if q.recorded == nil || d.Kind == Renewed {
		return
	}
	kept := *d
	if r, running := q.runs[d.ID]; running && d.Agent == "" {
		if _, ofJob := d.Kind.event(); ofJob {
			kept.Agent, kept.Attempt = q.agents[r.agent].name, r.attempt
		}
	}
	q.recorded = append(q.recorded, kept)
}
