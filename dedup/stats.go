package dedup

import "time"

// Stats are figures for metrics. Keys and OpenDuplicates are current values; the other numbers
// count since New.
type Stats struct {
	Keys           int64  // keys with a state row
	OpenDuplicates int64  // unresolved duplicates
	Changes        uint64 // applied changes of key rows
	Stale          uint64 // ignored changes: their version is not greater than the known one
	Duplicates     uint64 // duplicates found
	Resolved       uint64 // duplicates resolved
	Supersedes     uint64 // Supersede commands
	Revokes        uint64 // Revoke commands
	Repeated       uint64 // repeated commands, and commands with another winner
	SettingsWaits  uint64 // waits for the settings of a pool or the declaration of a region
	// Resolutions are the times from finding a duplicate to its end, in the open transaction. They
	// are valid until the next call.
	Resolutions []time.Duration
}

// Stats returns the current figures.
func (d *Dedup) Stats() Stats { return d.stats }
