package balancer

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// checkResource says what is wrong with a resource's change; everything is, before anything is changed.
func (b *Balancer) checkResource(c *eventspb.LeaseChange, m *eventspb.LeaseResource) refusal {
	if err := lease.CheckName("resource", m.Resource, lease.MaxKey); err != nil {
		return refusal{ReasonBadName, err.Error()}
	}
	switch {
	case m.Version <= 0:
		return refusal{ReasonBadVersion, fmt.Sprintf("version %d of resource %q", m.Version, m.Resource)}
	case m.ExpiresMs < 0 || m.ExpiresMs > maxTime || m.AvailableMs < 0 || m.AvailableMs > maxTime:
		return refusal{ReasonBadTime, fmt.Sprintf("resource %q ends %d, is available from %d", m.Resource, m.ExpiresMs, m.AvailableMs)}
	case m.Holder != "" && m.AvailableMs != 0:
		return refusal{ReasonBadState, fmt.Sprintf("resource %q is leased and available", m.Resource)}
	case b.region(m.Owner) < 0 && !c.Gone:
		return refusal{ReasonUnknownRegion, fmt.Sprintf("owner %q of resource %q is not among the declared regions", m.Owner, m.Resource)}
	}
	return refusal{}
}

// foldResource takes what became of a resource. What is not newer than what is known is ignored: it comes again from scans
// and replays.
func (b *Balancer) foldResource(p *pool, c *eventspb.LeaseChange, m *eventspb.LeaseResource) error {
	old, known, err := b.resource(p, m.Resource)
	if err != nil {
		return err
	}
	// That it went to another pool may bear the version that it had here.
	if known && (m.Version < old.version || m.Version == old.version && (!c.Gone || old.gone)) {
		return nil
	}
	now := rowOf(m, c.Gone)
	if i := b.region(now.owner); i >= 0 {
		now.owner = b.cfg.Regions[i]
	}
	if known {
		if s := b.poolRegion(p, old.owner); s != nil {
			s.count(&old, -1)
		}
	}
	if s := b.poolRegion(p, now.owner); s != nil {
		s.count(&now, 1)
		if known && !c.Scanned && now.leased() && now.holder != old.holder {
			s.series.Add(c.AtMs, 1, s.profile)
			b.touch(s)
			p.recordLength(now.expires - c.AtMs)
		}
	}
	if c.Scanned && c.AtMs > p.readMs {
		p.readMs, p.changed = c.AtMs, true
	}
	if f := p.transfers[m.Resource]; f != nil && (c.Gone || m.Version > f.version) {
		b.endOvertaken(p, m.Resource, f, !c.Gone && f.to >= 0 && now.owner == b.cfg.Regions[f.to])
	}
	b.put(p, m.Resource, &entry{row: now, before: old, known: known})
	return nil
}

// markOutdated takes note that a resource's row is at a version by now, whose change was not seen here. Until it is, nothing is known
// of the resource: most often somebody leased it a moment ago, and the change is on its way. But if it went to another pool while
// a stream was lost, no change of that ever comes here; it would stay free for ever, and, as the one that is available the longest,
// be the first to be commanded in vain each time. So older changes are not waited for either, whatever their order.
func (b *Balancer) markOutdated(p *pool, name string, version int64) error {
	old, known, err := b.resource(p, name)
	now := row{version: version - 1, gone: true, holder: old.holder} // by the holder a lease that was counted is known again
	if err != nil || !known || old.version >= version || old == now {
		return err
	}
	if s := b.poolRegion(p, old.owner); s != nil {
		s.count(&old, -1)
	}
	if f := p.transfers[name]; f != nil {
		b.endOvertaken(p, name, f, false)
	}
	b.put(p, name, &entry{row: now, before: old, known: true})
	return nil
}

// resource is what is known of a resource.
func (b *Balancer) resource(p *pool, name string) (r row, known bool, err error) {
	if e := p.changedRows[name]; e != nil {
		return e.row, true, nil
	}
	b.scratch = append(append(append(b.scratch[:0], p.key...), 0), name...)
	value, err := b.task.Get(TableResources, b.scratch)
	if err != nil || value == nil {
		return r, false, err
	}
	r, err = decodeRow(value, b.cfg.Regions)
	return r, err == nil, err
}

// put makes e what is known of a resource. What it was at the last Flush is kept.
func (b *Balancer) put(p *pool, name string, e *entry) {
	if was := p.changedRows[name]; was != nil {
		was.row = e.row
		return
	}
	p.changedRows[name] = e
	b.pendingBytes += 2*(len(p.key)+len(name)) + 100
	if !p.touched {
		p.touched = true
		b.touched = append(b.touched, p)
	}
}

// touch notes that a site is not as committed.
func (b *Balancer) touch(s *poolRegion) {
	if !s.changed {
		s.changed = true
		b.pendingBytes += 500
	}
}
