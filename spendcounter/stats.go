package spendcounter

// Stats are figures of a Counter. Totals of all time are part of the state: they survive takeovers.
type Stats struct {
	TimestampMs         int64  // greatest ingest time applied
	Duplicates          uint64 // client duplicates, of all time
	TransportDuplicates uint64 // copied records that arrived again, of all time
	Lost                uint64 // skipped origin offsets, of all time
	Late                uint64 // events too old for the 60 s ring, since New
	EarlyRotations      uint64 // generations of ids dropped early, of all time: the window was shorter than configured
	RememberedSinceMs   int64  // every id of an event applied since then is known; 0: every id of all time
	IDs, IDBytes        int    // remembered ids and their memory
	Entries             int    // campaign days in memory
	EntryBytes          int    // their approximate memory
	Evictions           uint64 // campaign days removed from memory, since New
}

// Stats returns the current figures.
func (c *Counter) Stats() Stats {
	current, previous := c.window.set.Len()
	s := Stats{
		TimestampMs: c.timestampMs, Duplicates: c.duplicates, EarlyRotations: c.window.earlyRotations,
		RememberedSinceMs: c.window.previous.GetStartMs(), IDs: current + previous, IDBytes: c.window.set.Bytes(),
		Entries: len(c.cache.list), EntryBytes: c.cache.bytes(), Evictions: c.cache.evictions,
	}
	for i := range c.origins {
		o := &c.origins[i]
		s.TransportDuplicates += o.transportDuplicates
		s.Lost += o.lost
		s.Late += o.late
	}
	return s
}
