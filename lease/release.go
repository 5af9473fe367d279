package lease

// Release is the state machine that ends a lease before its end. The resource becomes available to
// other keys after the lease's end and the quarantine, since other users of the key may rely on it
// until then.
type Release struct {
	Lease Grant

	state releaseStep
	row   Row // resource row, as last seen
}

type releaseStep uint8

const (
	releaseSettle releaseStep = iota
	releaseResource
	releaseHeal // completes half of a renewal: copies the resource row to the key row
	releaseKey
)

// Begin returns the first step. A pending key row is settled first. Otherwise a process that finds
// the row pending and the resource released would take another resource for the key.
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

// Next returns the step that follows the result of the last one.
func (m *Release) Next(t *Params, in Observation) Step {
	switch m.state {
	case releaseSettle:
		return m.onSettled(t, in)
	case releaseResource:
		m.row = in.Row
		switch r := &in.Row; {
		case in.OK, r.Version == m.Lease.Token+1 && r.Holder == "": // released by this write, or by one whose answer was lost
			return m.updateKeyRow(t, in.Now, m.Lease.KeyVersion)
		// the key uses the resource with a later lease
		case r.Holder == t.Holder && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew:
			return Step{Action: Lost, Loss: LossStale}
		case r.Holder == t.Holder && r.Owner == t.Region: // renewed by another holder, or half renewed: the key row decides
			m.state = releaseHeal
			return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
		default:
			return Step{Action: Lost, Loss: LossEnded}
		}
	case releaseHeal:
		if step, whole := t.onHealed(&m.Lease, &m.row, in); !whole {
			return step
		}
		return m.releaseRow(t, in.Now)
	default:
		if !in.OK && in.Row.isStale(m.Lease.Resource, m.row.Version) {
			return m.updateKeyRow(t, in.Now, in.Row.Version) // another process settled the row
		}
		return Step{Action: Done, Lease: m.Lease}
	}
}

// onSettled handles the result of settling the key row. If the row is of another lease, this lease
// is lost.
func (m *Release) onSettled(t *Params, in Observation) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK, same && k.State == Leased && k.ResourceVersion == m.Lease.Token:
		m.Lease.KeyVersion = k.Version
	case same && k.State == Superseded && k.ResourceVersion <= m.Lease.Token: // the key row stays superseded; the resource is released
		m.Lease.KeyVersion = 0
	default:
		return Step{Action: Lost, Loss: k.loss(m.Lease.Resource)}
	}
	return m.releaseRow(t, in.Now)
}

func (m *Release) updateKeyRow(t *Params, now, version int64) Step {
	m.state = releaseKey
	return t.keyStep(&t.Rules.Drop, now, Row{Version: version, State: Released, ResourceVersion: m.row.Version})
}
