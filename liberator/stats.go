package liberator

// Stats are figures for metrics and people. Those without another word are since New.
type Stats struct {
	Leases   int64  // that are watched now
	Changes  uint64 // of resources, taken
	Old      uint64 // changes of a version that is not greater than the known one
	Commands uint64 // first ones for a lease
	Repeated uint64 // commands said again
	Deferred uint64 // leases that got a slot later because the budget was spent
	Waited   uint64 // times that a lease waited because its pool's settings are not known
	DelayMs  int64  // longest time from a lease's end to its first command, of the last hundred or so commands; falls by itself
}

// Stats is how l stands.
func (l *Liberator) Stats() Stats { return l.stats }

// delayed takes a delay into the slowly falling maximum.
func (s *Stats) delayed(ms int64) { s.DelayMs = max(ms, s.DelayMs-(s.DelayMs+99)/100) }
