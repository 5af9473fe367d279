package lease

// Release is the machine that gives a lease back before its end. The resource is available to other keys from the
// lease's end and the quarantine on: others may have been told that they have it until then.
type Release struct {
	Lease Grant

	at  releaseStep
	row Row // the resource's, as it was seen
}

type releaseStep uint8

const (
	releaseSettle releaseStep = iota
	releaseResource
	releaseHeal // a renewal that stopped half way: the key row is to say what the resource row already does
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
	case releaseSettle:
		return m.settled(t, in)
	case releaseResource:
		m.row = in.Row
		switch r := &in.Row; {
		case in.OK, r.Version == m.Lease.Token+1 && r.Key == "": // ours, or as good
			return m.tell(t, in.Now, m.Lease.KeyVersion)
		case r.Key == t.Key && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew: // the key goes on with it without us
			return Step{Do: Lost, Why: LossStale}
		case r.Key == t.Key && r.Owner == t.Region: // another holder's, or half of one that nobody went on with: the key row tells
			m.at = releaseHeal
			return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
		default:
			return Step{Do: Lost, Why: LossEnded}
		}
	case releaseHeal:
		if step, whole := t.healed(&m.Lease, &m.row, in); !whole {
			return step
		}
		return m.give(t, in.Now)
	default:
		if !in.OK && in.Row.lags(m.Lease.Resource, m.row.Version) {
			return m.tell(t, in.Now, in.Row.Version) // settled meanwhile
		}
		return Step{Do: Done, Lease: m.Lease}
	}
}

// settled goes on after an attempt to settle the key row: it is of our lease, or of another, which is not ours to give back.
func (m *Release) settled(t *Terms, in Seen) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK, same && k.State == Leased && k.At == m.Lease.Token:
		m.Lease.KeyVersion = k.Version
	case same && k.State == Superseded && k.At <= m.Lease.Token: // it stays so; the resource is given back
		m.Lease.KeyVersion = 0
	default:
		return Step{Do: Lost, Why: k.loss(m.Lease.Resource)}
	}
	return m.give(t, in.Now)
}

func (m *Release) tell(t *Terms, now, version int64) Step {
	m.at = releaseKey
	return t.onKey(&t.Rules.Drop, now, Row{Version: version, State: Released, At: m.row.Version})
}
