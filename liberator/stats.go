package liberator

import "time"

// Stats are figures for metrics. Leases is a current value; the other numbers count since New.
type Stats struct {
	Leases        int64  // resources with a lease
	Changes       uint64 // applied changes of resources
	Stale         uint64 // ignored changes: their version is not greater than the known one
	Commands      uint64 // first commands for a lease version
	Repeated      uint64 // repeated commands
	Deferred      uint64 // leases that got a later slot because the budget was spent
	SettingsWaits uint64 // waits for the settings of a pool or the declaration of a region
	// Delays are the times from a lease's end to its first command, in the open transaction. They
	// are valid until the next call.
	Delays []time.Duration
}

// Stats returns the current figures.
func (l *Liberator) Stats() Stats { return l.stats }
