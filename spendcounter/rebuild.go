package spendcounter

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// rebuildPlan describes which part of an input must be read again.
type rebuildPlan struct {
	from            int64 // first offset
	ids, ring       int64 // first offset from which ids, and ring counts, are missing
	previous, newer int64 // first offset of the previous and of the current generation of ids
	applied         []applied
}

// RebuildFrom returns, for each input topic, the first offset to read again, up to Task.Next, to
// restore the ids and the ring. The runtime passes those records to Rebuild, topic by topic, before
// the first Fold.
func (c *Counter) RebuildFrom() map[string]int64 {
	from := make(map[string]int64, len(c.inputs))
	for i := range c.inputs {
		from[c.inputs[i].topic] = c.inputs[i].rebuild.from
	}
	return from
}

// planRebuild determines what the local tables lack.
func (c *Counter) planRebuild() error {
	saved, err := c.restoreRings()
	if err != nil {
		return err
	}
	w := &c.window
	ids, ringSpan := oldest(&w.spans), oldest(&c.ringSpans)
	for i := range c.inputs {
		in := &c.inputs[i]
		p := &in.rebuild
		p.newer, p.previous = start(w.current, in.topic), start(ids, in.topic)
		p.ids, p.ring = p.previous, start(ringSpan, in.topic)
		if next, ok := c.task.LocalNext[in.topic]; ok {
			p.ids = max(p.ids, next)
		}
		if saved != nil {
			p.ring = max(p.ring, start(saved, in.topic))
		}
		p.from = min(p.ids, p.ring, in.next)
		if in.adjustments {
			p.from = min(p.ids, in.next)
		}
		var at int64
		p.applied, at = appliedBefore(in.topic, p.from, ids, w.current, ringSpan, c.ringSpans.current, saved)
		if in.copied { // the records between the mark and p.from determine which copies were applied
			p.from = min(p.from, at)
		}
	}
	return nil
}

// oldest returns the older of two spans. At first there is only one.
func oldest(s *spans) *spendpb.Mark {
	if s.previous != nil {
		return s.previous
	}
	return s.current
}

// appliedBefore returns the position in the origin of topic at the last of the marks at or before
// offset, and the offset of that mark. Without such a mark, it is the beginning of topic.
func appliedBefore(topic string, offset int64, marks ...*spendpb.Mark) (was []applied, at int64) {
	best, at := []*spendpb.Applied(nil), int64(-1)
	for _, m := range marks {
		for _, t := range m.GetTopics() {
			if t.Topic == topic && t.Next <= offset && t.Next > at {
				best, at = t.Applied, t.Next
			}
		}
	}
	return appliedFrom(best), max(at, 0)
}

// Rebuild restores the duplicate set and the ring by ingest time from records of b that were folded
// before. It changes no spend and rejects nothing; it skips the records that Fold rejected. One
// case is not visible in the record alone: a rejection because of an overflow. Such an id counts as
// seen, because charging an event twice is worse than showing a corrected event as a duplicate.
func (c *Counter) Rebuild(b *stream.Batch) error {
	in, err := c.begin(b)
	if err != nil {
		return err
	}
	c.health.unsaved = true
	if in.adjustments {
		c.rebuildAdjustments(in, b)
		return nil
	}
	defer c.rows.release()
	for i := range b.Records {
		if c.read(in, b, i, 0).reason == "" {
			c.rebuildEvent(in, b.Records[i].Offset)
		}
	}
	return nil
}

// rebuildEvent restores row 0, the record at offset.
func (c *Counter) rebuildEvent(in *input, offset int64) {
	r, p, o := &c.rows, &in.rebuild, &c.origins[in.origin]
	if in.copied {
		if at := position(p.applied, r.originOf[0]); at != nil && r.originAt[0] < at.next {
			return
		}
	}
	beat := r.typ[0] == heartbeat
	if !beat && r.dc[0] == noDC && len(c.dcs.names) >= MaxServingDCs {
		return
	}
	if in.copied {
		p.applied, _ = advance(p.applied, r.originOf[0], r.originAt[0])
	}
	if offset >= p.ring {
		if beat {
			o.ring.Advance(r.ingest[0])
		} else if !o.ring.Add(r.ingest[0], 1) {
			o.late++
		}
	}
	if !beat {
		c.remember(p, offset, r.id[0], r.account[0])
	}
}

// remember adds an id to the generation that the record at offset belongs to.
func (c *Counter) remember(p *rebuildPlan, offset int64, id uint64, account []byte) {
	if offset < p.ids {
		return
	}
	w, previous := &c.window, offset < p.newer
	if w.set.Restore(id, previous) {
		generation := 1
		if previous {
			generation = 0
		}
		w.pending[generation] = append(w.pending[generation], id)
		if c.idAccounts != nil {
			c.idAccounts[generation] = append(c.idAccounts[generation], events.AccountHash(account))
		}
	}
}

func (c *Counter) rebuildAdjustments(in *input, b *stream.Batch) {
	for i := range b.Records {
		a, bad := c.readAdjustment(&b.Records[i])
		if bad.reason != "" || c.dcs.find(a.serving) == noDC && len(c.dcs.names) >= MaxServingDCs {
			continue
		}
		c.remember(&in.rebuild, b.Records[i].Offset, a.id, a.account)
	}
}
