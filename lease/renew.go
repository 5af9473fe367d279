package lease

// Renew is the machine that gives a lease a later end. Its region is the one that owns the lease: Terms.Region.
type Renew struct {
	Lease Grant
	Until int64

	state renewStep
	row   Row // the resource's, as it must come to stand in the key row
}

type renewStep uint8

const (
	renewResource renewStep = iota
	renewKey
	renewHeal // a renewal that stopped half way: the key row is to say what the resource row already does
	renewDrop // the same of a release
)

// Begin gives the first step. A lease is never made shorter.
func (m *Renew) Begin(t *Params, now int64) Step {
	m.state, m.Until = renewResource, max(m.Until, m.Lease.Expires)
	return t.resourceStep(&t.Rules.Renew, now, m.Lease.Resource, Row{Version: m.Lease.Token, Expires: m.Until})
}

// Next gives the step after what was seen.
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
			return m.dropKeyRow(t, in.Now, in.Row.Version) // settled meanwhile
		}
		return Step{Action: Lost, Why: LossReleased}
	}
}

func (m *Renew) onRenewed(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	case in.OK, r.Holder == t.Holder && r.Owner == t.Region && r.Version == m.Lease.Token+1 && r.Expires >= m.Until: // ours, or as good
		m.row = *r
		return m.updateKeyRow(t, in.Now, m.Lease.KeyVersion)
	case r.Holder == t.Holder && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew: // the key goes on with it without us
		return Step{Action: Lost, Why: LossStale}
	case r.Holder == t.Holder && r.Owner == t.Region: // another holder's, or half of one that nobody went on with: the key row tells
		m.row, m.state = *r, renewHeal
		return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
	case r.Version == m.Lease.Token+1 && r.Holder == "" && m.Lease.Expires > in.Now-t.Skew: // given back, and the key row was perhaps not told
		m.row, m.state = *r, renewDrop
		return m.dropKeyRow(t, in.Now, m.Lease.KeyVersion)
	default:
		return Step{Action: Lost, Why: LossEnded}
	}
}

func (m *Renew) dropKeyRow(t *Params, now, version int64) Step {
	return t.keyStep(&t.Rules.Drop, now, Row{Version: version, State: Released, ResourceVersion: m.row.Version})
}

func (m *Renew) updateKeyRow(t *Params, now, version int64) Step {
	m.state = renewKey
	return t.extend(&t.Rules.Extend, now, version, m.Lease.Resource, &m.row)
}

// onKeyRowUpdated goes on after an attempt to say in the key row that the resource was renewed. Only with it the renewal counts.
func (m *Renew) onKeyRowUpdated(t *Params, in Observation) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK:
		return Step{Action: Done, Lease: grant(t.Region, k)}
	case same && k.State == Leased && k.ResourceVersion >= m.row.Version && k.Expires >= m.row.Expires: // somebody told it for us
		return Step{Action: Done, Lease: grant(t.Region, k)}
	case k.isStale(m.Lease.Resource, m.row.Version): // settled meanwhile
		return m.updateKeyRow(t, in.Now, k.Version)
	default:
		return Step{Action: Lost, Why: k.loss(m.Lease.Resource)}
	}
}
