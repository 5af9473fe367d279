package lease

// Release is the machine that gives a lease back before its end. The resource is available to other keys from the
// lease's end and the quarantine on: others may have been told that they have it until then.
type Release struct {
	Lease Grant

	at      releaseStep
	version int64 // of the resource row, released
}

type releaseStep uint8

const (
	releaseSettle releaseStep = iota
	releaseResource
	releaseKey
)

// Begin gives the first step. A key row that is pending is settled first: whoever finds it pending, and the resource
// available, takes it for a candidate that was lost, and another resource for the key.
func (m *Release) Begin(t *Terms, now int64) Step {
	if m.Lease.Settle {
		return t.Settled(m.Lease, now)
	}
	return m.give(t, now)
}

func (m *Release) give(t *Terms, now int64) Step {
	m.at = releaseResource
	return t.onResource(&t.Rules.Release, now, m.Lease.Resource, Row{Version: m.Lease.Token, Available: m.Lease.Expires + t.Quarantine})
}

// Next gives the step after what was seen.
func (m *Release) Next(t *Terms, in Seen) Step {
	switch m.at {
	case releaseKey:
	case releaseSettle:
		if !in.OK && in.Row.State == Pending {
			return Step{Do: Lost, Why: LossEnded} // it is of another lease
		}
		m.Lease.KeyVersion = in.Row.Version
		return m.give(t, in.Now)
	case releaseResource:
		r := &in.Row
		switch {
		case in.OK, r.Version == m.Lease.Token+1 && r.Key == "": // ours, or as good
			m.version = r.Version
			return m.tell(t, in.Now, m.Lease.KeyVersion)
		case r.Key == t.Key && r.Owner == t.Region:
			return Step{Do: Lost, Why: LossStale}
		default:
			return Step{Do: Lost, Why: LossEnded}
		}
	}
	k := &in.Row
	if !in.OK && k.lags(m.Lease.Resource, m.version) {
		return m.tell(t, in.Now, k.Version) // settled meanwhile
	}
	return Step{Do: Done, Lease: m.Lease}
}

func (m *Release) tell(t *Terms, now, version int64) Step {
	m.at = releaseKey
	return t.onKey(&t.Rules.Drop, now, Row{Version: version, State: Released, At: m.version})
}
