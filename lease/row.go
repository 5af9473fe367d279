package lease

import "cmp"

// State is the state of a key row.
type State string

// The states of a key row.
const (
	Pending    State = "pending"    // the lease begins; the resource row shows whether the resource was taken
	Leased     State = "leased"     // the resource was taken
	Released   State = "released"   // ended early; until its end the key can get the same resource again, and no other
	Superseded State = "superseded" // another region's lease of the key is valid
)

// Row is the protocol's view of a resource row or a key row. A zero field is an absent attribute;
// version 0 is an absent row. Times are Unix milliseconds.
type Row struct {
	Version int64
	Expires int64 // end of the lease

	// Of a resource row.
	Owner     string // region that leases the resource, and through whose endpoint the row is written
	Holder    string // pool and key of the lease, see Holder
	Available int64  // time from which the resource can be leased; 0 while it is leased or retired

	// Of a key row.
	State           State
	Resource        string
	ResourceVersion int64  // pending: version of the resource row at which it is to be taken; leased: the lease's token
	Winner          string // superseded: the region whose lease is valid
	Granted         int64  // when the lease began; 0: unknown
}

// GrantedBefore reports whether the lease of region wins over that of otherRegion, of two leases of
// one key: the one granted first, then the lesser region name. A lease without a grant time loses.
// The order uses only values that do not change during a lease, so all readers agree.
func GrantedBefore(region string, granted int64, otherRegion string, otherGranted int64) bool {
	if (granted == 0) != (otherGranted == 0) {
		return otherGranted == 0
	}
	return cmp.Or(cmp.Compare(granted, otherGranted), cmp.Compare(region, otherRegion)) < 0
}

// Live reports whether a key row gives its resource to a user whose clock is at now.
func (r *Row) Live(now, skew int64) bool { return r.State == Leased && r.Expires > now+skew }

// isStale reports whether a key row names a resource at a version below at.
func (r *Row) isStale(resource string, at int64) bool {
	return r.Resource == resource && r.ResourceVersion < at && (r.State == Leased || r.State == Pending)
}

// isSameLease reports whether a key row is of the lease g.
func (r *Row) isSameLease(g *Grant) bool {
	return r.Resource == g.Resource &&
		(r.State == Leased && r.ResourceVersion == g.Token || r.State == Pending && r.ResourceVersion == g.Token-1)
}

// loss returns why a lease of a resource was lost, from its present key row.
func (r *Row) loss(resource string) LossReason {
	switch {
	case r.State == Superseded:
		return LossSuperseded
	case r.Resource != resource:
		return LossEnded
	case r.State == Released:
		return LossReleased
	default:
		return LossStale
	}
}

// Over reports whether a lease has ended by every clock, when the reader's clock is at now.
func (r *Row) Over(now, skew int64) bool { return r.Expires < now-skew }
