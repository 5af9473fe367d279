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
	renewDrop // the key row is to say what the resource row already does: given back
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
	default:
		return Step{Do: Lost, Why: LossReleased}
	}
}

func (m *Renew) renewed(t *Terms, in Seen) Step {
	r := &in.Row
	switch {
	case in.OK, r.Key == t.Key && r.Owner == t.Region && r.Version == m.Lease.Token+1 && r.Expires >= m.Until: // ours, or as good
		m.row = *r
		return m.tell(t, in.Now, m.Lease.KeyVersion)
	case r.Key == t.Key && r.Owner == t.Region:
		return Step{Do: Lost, Why: LossStale}
	case r.Version == m.Lease.Token+1 && r.Key == "" && m.Lease.Expires > in.Now-t.Skew: // given back, and the key row was perhaps not told
		m.at = renewDrop
		return t.onKey(&t.Rules.Drop, in.Now, Row{Version: m.Lease.KeyVersion, State: Released, At: r.Version})
	default:
		return Step{Do: Lost, Why: LossEnded}
	}
}

func (m *Renew) tell(t *Terms, now, version int64) Step {
	m.at = renewKey
	return t.onKey(&t.Rules.Extend, now, Row{Version: version, State: Leased, Resource: m.Lease.Resource, At: m.row.Version, Expires: m.row.Expires})
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
	case k.State == Superseded:
		return Step{Do: Lost, Why: LossSuperseded}
	case same && k.State == Leased:
		return Step{Do: Lost, Why: LossStale}
	default:
		return Step{Do: Lost, Why: LossEnded}
	}
}
