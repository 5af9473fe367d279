package handler

// Limits of the timers that fire at a time. Which timers fire in which transaction depends on them,
// so a check that fires the timers of a transaction again uses the same ones.
const (
	// FireBatch is the number of timers of one call of OnTimer.
	FireBatch = 4096
	// WallLimit bounds the wall timers of one transaction. After an outage all of them may be due,
	// and their changes must fit into memory and into the duration of a transaction. The others
	// fire in the next transactions.
	WallLimit = 5 * FireBatch
)
