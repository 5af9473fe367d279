package lease

// Renew is the state machine that moves the end of a lease. It runs in the region that owns the
// lease: Params.Region.
type Renew struct {
	Lease Grant
	Until int64

	state renewStep
	row   Row // resource row that the key row has to follow
}

type renewStep uint8

const (
	renewResource renewStep = iota
	renewKey
	renewHeal // completes half of a renewal: copies the resource row to the key row
	renewDrop // completes half of a release
)

// Begin returns the first step. A renewal never makes a lease shorter.
func (m *Renew) Begin(t *Params, now int64) Step {
	m.state, m.Until = renewResource, max(m.Until, m.Lease.Expires)
	return t.resourceStep(&t.Rules.Renew, now, m.Lease.Resource, Row{Version: m.Lease.Token, Expires: m.Until})
}

// Next returns the step that follows the result of the last one.
func (m *Renew) Next(t *Params, in Observation) Step {
	switch m.state {
	case renewResource:
		return m.onRenewed(t, in)
	case renewKey:
		return m.onKeyRowUpdated(t, in)
	case renewHeal:
		if step, whole := t.onHealed(&m.Lease, &m.row, in); !whole {
			return step
		}
		return m.Begin(t, in.Now)
	default:
		if !in.OK && in.Row.isStale(m.Lease.Resource, m.row.Version) {
			return m.dropKeyRow(t, in.Now, in.Row.Version) // another process settled the row
		}
		return Step{Action: Lost, Loss: LossReleased}
	}
}

func (m *Renew) onRenewed(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	// renewed by this write, or by one whose answer was lost
	case in.OK, r.Holder == t.Holder && r.Owner == t.Region && r.Version == m.Lease.Token+1 && r.Expires >= m.Until:
		m.row = *r
		return m.updateKeyRow(t, in.Now, m.Lease.KeyVersion)
	case r.Holder == t.Holder && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew: // the key uses the resource with a later lease
		return Step{Action: Lost, Loss: LossStale}
	case r.Holder == t.Holder && r.Owner == t.Region: // renewed by another holder, or half renewed: the key row decides
		m.row, m.state = *r, renewHeal
		return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
	case r.Version == m.Lease.Token+1 && r.Holder == "" && m.Lease.Expires > in.Now-t.Skew: // released, and the key row may lag
		m.row, m.state = *r, renewDrop
		return m.dropKeyRow(t, in.Now, m.Lease.KeyVersion)
	default:
		return Step{Action: Lost, Loss: LossEnded}
	}
}

func (m *Renew) dropKeyRow(t *Params, now, version int64) Step {
	return t.keyStep(&t.Rules.Drop, now, Row{Version: version, State: Released, ResourceVersion: m.row.Version})
}

func (m *Renew) updateKeyRow(t *Params, now, version int64) Step {
	m.state = renewKey
	return t.extend(&t.Rules.Extend, now, version, m.Lease.Resource, &m.row)
}

// onKeyRowUpdated handles the result of the key row's write. The renewal counts only when the key
// row has it.
func (m *Renew) onKeyRowUpdated(t *Params, in Observation) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK:
		return Step{Action: Done, Lease: grant(t.Region, k)}
	case same && k.State == Leased && k.ResourceVersion >= m.row.Version && k.Expires >= m.row.Expires: // another process wrote it
		return Step{Action: Done, Lease: grant(t.Region, k)}
	case k.isStale(m.Lease.Resource, m.row.Version): // another process settled the row
		return m.updateKeyRow(t, in.Now, k.Version)
	default:
		return Step{Action: Lost, Loss: k.loss(m.Lease.Resource)}
	}
}
