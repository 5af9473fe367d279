package spendcounter

// Stats are figures for metrics and people.
type Stats struct {
	TimestampMs         int64  // greatest ingest time applied
	Duplicates          uint64 // client duplicates, ever
	TransportDuplicates uint64 // copied records that came again, ever
	Lost                uint64 // origin offsets jumped over, ever
	Late                uint64 // events too old for the 60 s ring, since New
	EarlyRotations      uint64 // generations of ids dropped before their time, ever: the window was shorter than set
	RememberedSinceMs   int64  // an id of an event applied since then is known; 0 = every id ever
	IDs, IDBytes        int    // remembered ids and their memory
	Entries             int    // campaign days in memory
	EntryBytes          int    // their memory, about
	Evictions           uint64 // campaign days dropped from memory, since New
}

// Stats is how c stands.
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
