package spendcounter

// advanceClocks advances the clocks past row j, the record at offset: the origin's position, the
// greatest ingest times and the ring.
func (c *Counter) advanceClocks(in *input, j int, offset int64) {
	r, o := &c.rows, &c.origins[in.origin]
	ms := r.ingest[j]
	at := offset
	if in.copied {
		at = r.origin[j].Offset
	}
	c.beginMinute(o, max(o.watermarkMs, ms), at) // before the gap in front of row j is counted as lost
	clock := max(c.timestampMs, ms)
	if c.ringSpans.due(clock, ringSpanMs) {
		c.ringSpans.begin(c.mark(in, offset, clock))
	}
	if c.ringSpans.current.StartMs == 0 {
		c.ringSpans.current.StartMs = clock
	}
	if in.copied {
		c.advance(in, r.origin[j])
	}
	c.timestampMs = clock
	o.watermarkMs = max(o.watermarkMs, ms)
	o.minute.NextOffset = at + 1
	if r.typ[j] == heartbeat {
		o.ring.Advance(ms)
		return
	}
	o.minute.Events++
	o.minute.Micros += uint64(r.price[j])
	o.minute.Digest += r.id[j]
	if !o.ring.Add(ms, 1) {
		o.missedRing++
	}
}
