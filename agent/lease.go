package agent

import "time"

// Lease is the right of a key to use a resource until Deadline.
type Lease struct {
	Client, Pool, Key string
	Resource          string
	// Region is the region that owns the lease. Renew and Release write there.
	Region string
	// Token is greater than the token of every earlier lease of the resource: a fencing token. It
	// is a counter and not a time.
	Token int64
	// Expires is the end of the lease.
	Expires time.Time
	// Deadline is the time until which the holder may use the resource, by its own clock: Expires
	// less Config.Skew.
	Deadline time.Time
	// Clamped means that the lease ends earlier than requested, at the pool's maximum lease term.
	Clamped bool
	// New means that this call began the lease.
	New bool

	version int64 // of the key row
	pending bool  // the key row is not settled
}

// Valid reports whether the holder may use the resource when its clock is at now.
func (l Lease) Valid(now time.Time) bool { return now.Before(l.Deadline) }
