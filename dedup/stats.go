package dedup

// Stats are figures for metrics and people. Those without another word are since New.
type Stats struct {
	Keys       int64  // that are known now
	Open       int64  // duplicates that are not resolved now
	Changes    uint64 // of rows of keys, taken
	Old        uint64 // changes of a version that is not greater than the known one
	Found      uint64 // duplicates
	Resolved   uint64
	Supersedes uint64 // commands
	Revokes    uint64 // commands
	Repeated   uint64 // times that a loser was told again, or that another won
	Waited     uint64 // times that something waited because settings or a region are not known
	TookMs     int64  // longest time from finding a duplicate to its end, of the last hundred or so; falls by itself
}

// Stats is how d stands.
func (d *Dedup) Stats() Stats { return d.stats }

// took takes a time into the slowly falling maximum.
func (s *Stats) took(ms int64) { s.TookMs = max(ms, s.TookMs-(s.TookMs+99)/100) }
