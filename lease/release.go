package lease

// Release is the machine that gives a lease back before its end. The resource is available to other keys from the
// lease's end and the quarantine on: others may have been told that they have it until then.
type Release struct {
	Lease Grant

	state releaseStep
	row   Row // the resource's, as it was seen
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
func (m *Release) Begin(t *Params, now int64) Step {
	if m.Lease.Unsettled {
		return t.SettleStep(m.Lease, now)
	}
	return m.releaseRow(t, now)
}

func (m *Release) releaseRow(t *Params, now int64) Step {
	m.state = releaseResource
	return t.resourceStep(&t.Rules.Release, now, m.Lease.Resource, Row{Version: m.Lease.Token, Available: m.Lease.Expires + t.Quarantine})
}

// Next gives the step after what was seen.
func (m *Release) Next(t *Params, in Observation) Step {
	switch m.state {
	case releaseSettle:
		return m.onSettled(t, in)
	case releaseResource:
		m.row = in.Row
		switch r := &in.Row; {
		case in.OK, r.Version == m.Lease.Token+1 && r.Holder == "": // ours, or as good
			return m.updateKeyRow(t, in.Now, m.Lease.KeyVersion)
		case r.Holder == t.Holder && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew: // the key goes on with it without us
			return Step{Action: Lost, Why: LossStale}
		case r.Holder == t.Holder && r.Owner == t.Region: // another holder's, or half of one that nobody went on with: the key row tells
			m.state = releaseHeal
			return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
		default:
			return Step{Action: Lost, Why: LossEnded}
		}
	case releaseHeal:
		if step, whole := t.onHealed(&m.Lease, &m.row, in); !whole {
			return step
		}
		return m.releaseRow(t, in.Now)
	default:
		if !in.OK && in.Row.isStale(m.Lease.Resource, m.row.Version) {
			return m.updateKeyRow(t, in.Now, in.Row.Version) // settled meanwhile
		}
		return Step{Action: Done, Lease: m.Lease}
	}
}

// onSettled goes on after an attempt to settle the key row: it is of our lease, or of another, which is not ours to give back.
func (m *Release) onSettled(t *Params, in Observation) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK, same && k.State == Leased && k.ResourceVersion == m.Lease.Token:
		m.Lease.KeyVersion = k.Version
	case same && k.State == Superseded && k.ResourceVersion <= m.Lease.Token: // it stays so; the resource is given back
		m.Lease.KeyVersion = 0
	default:
		return Step{Action: Lost, Why: k.loss(m.Lease.Resource)}
	}
	return m.releaseRow(t, in.Now)
}

func (m *Release) updateKeyRow(t *Params, now, version int64) Step {
	m.state = releaseKey
	return t.keyStep(&t.Rules.Drop, now, Row{Version: version, State: Released, ResourceVersion: m.row.Version})
}
