package lease

// Renew is the machine that gives a lease a later end. Its region is the one that owns the lease: Terms.Region.
type Renew struct {
	Lease Grant
	Until int64

	at  renewStep
	row Row // the resource's, as it must come to stand in the key row
}

type renewStep uint8

const (
	renewResource renewStep = iota
	renewKey
	renewHeal // a renewal that stopped half way: the key row is to say what the resource row already does
	renewDrop // the same of a release
)

// Begin gives the first step. A lease is never made shorter.
func (m *Renew) Begin(t *Terms, now int64) Step {
	m.at, m.Until = renewResource, max(m.Until, m.Lease.Expires)
	return t.onResource(&t.Rules.Renew, now, m.Lease.Resource, Row{Version: m.Lease.Token, Expires: m.Until})
}

// Next gives the step after what was seen.
func (m *Renew) Next(t *Terms, in Seen) Step {
	switch m.at {
	case renewResource:
		return m.renewed(t, in)
	case renewKey:
		return m.told(t, in)
	case renewHeal:
		if step, whole := t.healed(&m.Lease, &m.row, in); !whole {
			return step
		}
		return m.Begin(t, in.Now)
	default:
		if !in.OK && in.Row.lags(m.Lease.Resource, m.row.Version) {
			return m.drop(t, in.Now, in.Row.Version) // settled meanwhile
		}
		return Step{Do: Lost, Why: LossReleased}
	}
}

func (m *Renew) renewed(t *Terms, in Seen) Step {
	r := &in.Row
	switch {
	case in.OK, r.Key == t.Key && r.Owner == t.Region && r.Version == m.Lease.Token+1 && r.Expires >= m.Until: // ours, or as good
		m.row = *r
		return m.tell(t, in.Now, m.Lease.KeyVersion)
	case r.Key == t.Key && r.Owner == t.Region && m.Lease.Expires <= in.Now+t.Skew: // the key goes on with it without us
		return Step{Do: Lost, Why: LossStale}
	case r.Key == t.Key && r.Owner == t.Region: // another holder's, or half of one that nobody went on with: the key row tells
		m.row, m.at = *r, renewHeal
		return t.extend(&t.Rules.Extend, in.Now, m.Lease.KeyVersion, m.Lease.Resource, r)
	case r.Version == m.Lease.Token+1 && r.Key == "" && m.Lease.Expires > in.Now-t.Skew: // given back, and the key row was perhaps not told
		m.row, m.at = *r, renewDrop
		return m.drop(t, in.Now, m.Lease.KeyVersion)
	default:
		return Step{Do: Lost, Why: LossEnded}
	}
}

func (m *Renew) drop(t *Terms, now, version int64) Step {
	return t.onKey(&t.Rules.Drop, now, Row{Version: version, State: Released, At: m.row.Version})
}

func (m *Renew) tell(t *Terms, now, version int64) Step {
	m.at = renewKey
	return t.extend(&t.Rules.Extend, now, version, m.Lease.Resource, &m.row)
}

// told goes on after an attempt to say in the key row that the resource was renewed. Only with it the renewal counts.
func (m *Renew) told(t *Terms, in Seen) Step {
	k := &in.Row
	same := k.Resource == m.Lease.Resource
	switch {
	case in.OK:
		return Step{Do: Done, Lease: grant(t.Region, k)}
	case same && k.State == Leased && k.At >= m.row.Version && k.Expires >= m.row.Expires: // somebody told it for us
		return Step{Do: Done, Lease: grant(t.Region, k)}
	case k.lags(m.Lease.Resource, m.row.Version): // settled meanwhile
		return m.tell(t, in.Now, k.Version)
	default:
		return Step{Do: Lost, Why: k.loss(m.Lease.Resource)}
	}
}
