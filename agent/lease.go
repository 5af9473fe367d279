package agent

import "time"

// Lease is the right to use a resource for a key until Deadline.
type Lease struct {
	Client, Pool, Key string
	Resource          string
	// Region is the region that the lease is of. Renew and Release write there.
	Region string
	// Token is greater than the token of any earlier lease of the resource. It is no time.
	Token int64
	// Expires is when the lease ends.
	Expires time.Time
	// Deadline is until when the holder may use the resource, by its own clock: Expires less the skew of clocks.
	Deadline time.Time
	// Clamped says that the pool's longest lease is shorter than what was asked for.
	Clamped bool
	// New says that this call began the lease.
	New bool

	version int64 // of the key row
	pending bool  // the key row is not settled
}

// Valid says whether the resource may be used at a moment by the holder's clock.
func (l Lease) Valid(now time.Time) bool { return now.Before(l.Deadline) }
