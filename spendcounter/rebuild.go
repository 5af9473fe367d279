package spendcounter

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// rebuildPlan describes which part of an input must be read again.
type rebuildPlan struct {
	from        int64 // first offset
	ids, ring   int64 // first offset from which ids, and ring counts, are missing
	applied     []applied
	watermarkMs int64 // the origin's greatest ingest time before the next record
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
	marks := []*spendpb.Mark{c.ringSpans.oldest(), c.ringSpans.current, saved}
	for _, b := range c.window.buckets {
		marks = append(marks, b.since)
	}
	for i := range c.inputs {
		in := &c.inputs[i]
		p := &in.rebuild
		p.from = in.next
		if in.adjustments {
			continue
		}
		p.ids, p.ring = in.next, start(c.ringSpans.oldest(), in.topic)
		for _, b := range c.window.buckets {
			p.ids = min(p.ids, start(b.since, in.topic))
		}
		if next, ok := c.task.LocalNext[in.topic]; ok {
			p.ids = max(p.ids, next)
		}
		if saved != nil {
			p.ring = max(p.ring, start(saved, in.topic))
		}
		if first := min(p.ids, p.ring); first < in.next {
			p.begin(in, first, marks)
		}
	}
	return nil
}

// begin makes the last of the marks at or before offset the beginning of the plan. The records
// between the mark and offset determine which copies were applied and which events were late.
// Without such a mark, the plan begins with the topic.
func (p *rebuildPlan) begin(in *input, offset int64, marks []*spendpb.Mark) {
	best := &spendpb.TopicStart{}
	for _, m := range marks {
		if !in.copied && best.Next == 0 && len(m.GetTopics()) == 0 {
			best = &spendpb.TopicStart{WatermarkMs: m.GetStartMs()} // of a former generation, see Repartitioner
		}
		for _, t := range m.GetTopics() {
			if t.Topic == in.topic && t.Next <= offset && t.Next >= best.Next {
				best = t
			}
		}
	}
	p.from, p.applied, p.watermarkMs = best.Next, appliedFrom(best.Applied), best.WatermarkMs
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
	if in.adjustments { // their references are in a table
		return nil
	}
	defer c.rows.release()
	for i := range b.Records {
		if c.read(in, b, i, 0).reason != "" {
			if at, ok := originOf(b.Records[i].Headers); ok && in.copied && !isApplied(in.rebuild.applied, at) {
				in.rebuild.applied, _ = advance(in.rebuild.applied, at)
			}
			continue
		}
		if err := c.rebuildEvent(in, b.Records[i].Offset); err != nil {
			return err
		}
	}
	return nil
}

// rebuildEvent restores row 0, the record at offset.
func (c *Counter) rebuildEvent(in *input, offset int64) error {
	r, p, o := &c.rows, &in.rebuild, &c.origins[in.origin]
	if in.copied {
		if isApplied(p.applied, r.origin[0]) {
			return nil
		}
		p.applied, _ = advance(p.applied, r.origin[0])
	}
	beat := r.typ[0] == heartbeat
	if !beat && r.dc[0] == noDC && len(c.dcs.names) >= MaxServingDCs {
		return nil
	}
	late := !beat && c.window.late(r.event[0], r.ingest[0], p.watermarkMs)
	if late && c.cfg.RejectLate && !r.imported[0] {
		return nil
	}
	p.watermarkMs = max(p.watermarkMs, r.ingest[0])
	if offset >= p.ring {
		if beat {
			o.ring.Advance(r.ingest[0])
		} else if !o.ring.Add(r.ingest[0], 1) {
			o.missedRing++
		}
	}
	if beat || late || offset < p.ids {
		return nil
	}
	return c.remember(in.topic, offset)
}

// remember adds the id of row 0, the record at offset of topic, to its bucket, unless the bucket is
// dropped or began later.
func (c *Counter) remember(topic string, offset int64) error {
	r := &c.rows
	b := c.window.find(r.event[0])
	if b == nil || offset < start(b.since, topic) {
		return nil
	}
	if b.set == nil {
		if err := c.loadBucket(b); err != nil {
			return c.fail(err)
		}
	}
	if b.set.Insert(r.id[0]) != idset.New {
		return nil
	}
	b.room--
	b.pending = append(b.pending, r.id[0])
	if c.keepAccounts {
		b.accounts = append(b.accounts, events.AccountHash(r.account[0]))
	}
	return nil
}
