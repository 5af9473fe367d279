package balancer

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
)

// foldResource applies a change of a resource. A version that is not greater than the known one is
// ignored: scans and replays repeat changes.
func (b *Balancer) foldResource(p *pool, c *changes.Change, m *eventspb.LeaseResource) error {
	e, old, known, err := b.resource(p, m.Resource)
	if err != nil {
		return err
	}
	// The change that reports a move to another pool may have the version that the row had here.
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
	if e != nil {
		e.row = now
	} else {
		b.put(p, m.Resource, entry{row: now, before: old, known: known})
	}
	return nil
}

// markOutdated records that a resource's row has a version whose change was not seen. Until that
// change arrives, the resource is not counted: most often an agent leased it a moment ago and the
// change is underway. But if the resource moved to another pool during a gap of the stream, the
// change never arrives in this pool. The resource would stay free for ever and, as the longest
// available, be commanded in vain first each time. Older changes are ignored from now on, whatever
// the order of changes and results.
func (b *Balancer) markOutdated(p *pool, name string, version int64) error {
	e, old, known, err := b.resource(p, name)
	now := row{version: version - 1, gone: true, holder: old.holder} // with the holder, so that a lease is counted as one arrival
	if err != nil || !known || old.version >= version || old == now {
		return err
	}
	if s := b.poolRegion(p, old.owner); s != nil {
		s.count(&old, -1)
	}
	if f := p.transfers[name]; f != nil {
		b.endOvertaken(p, name, f, false)
	}
	if e != nil {
		e.row = now
	} else {
		b.put(p, name, entry{row: now, before: old, known: true})
	}
	return nil
}

// resource returns what is known of a resource, and its entry if it changed since the last Flush.
func (b *Balancer) resource(p *pool, name string) (e *entry, r row, known bool, err error) {
	if e := p.changedRows[name]; e != nil {
		return e, e.row, true, nil
	}
	b.scratch = append(append(append(b.scratch[:0], p.key...), 0), name...)
	value, err := b.task.Get(TableResources, b.scratch)
	if err != nil || value == nil {
		return nil, r, false, err
	}
	r, err = decodeRow(value, b.cfg.Regions)
	return nil, r, err == nil, err
}

// put adds an entry for a resource that has none yet.
func (b *Balancer) put(p *pool, name string, e entry) {
	if len(b.entries) == 0 {
		b.entries = make([]entry, entryChunk)
	}
	p.changedRows[name] = &b.entries[0]
	b.entries[0], b.entries = e, b.entries[1:]
	b.pendingBytes += 2*(len(p.key)+len(name)) + 100
	if !p.touched {
		p.touched = true
		b.touched = append(b.touched, p)
	}
}

// touch records that the row of a pool region differs from the committed one.
func (b *Balancer) touch(s *poolRegion) {
	if !s.changed {
		s.changed = true
		b.pendingBytes += 500
	}
}
