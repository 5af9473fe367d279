package lease

import "cmp"

// State is the state of a key row.
type State string

// The states of a key row.
const (
	Pending    State = "pending"    // its resource may be taken, or not yet: the resource row tells
	Leased     State = "leased"     // its resource was taken
	Released   State = "released"   // given back before its end: until then the key can have that one again, and no other
	Superseded State = "superseded" // another region's lease of the key won
)

// Row is what the protocol knows of a row of either kind. A zero field is an attribute that is not there; version 0 is no
// row at all. Times are milliseconds since 1970.
type Row struct {
	Version int64
	Expires int64 // end of the lease

	// Of a resource row.
	Owner     string // region whose endpoint it is written through
	Holder    string // who holds it
	Available int64  // from when on it may be leased; there is none while Key is, nor while the resource is retired

	// Of a key row.
	State           State
	Resource        string
	ResourceVersion int64  // pending: version of the resource row at which it is to be taken; else the one it was left at
	Winner          string // superseded: the region whose lease won
	Granted         int64  // when it first named a resource for this lease; 0: not known
}

// GrantedBefore is the order of the leases that two regions made of a key at once: the first that was granted, then the first by region;
// one without a time of granting comes last. All go by it, as it is by what does not change while a lease goes on.
func GrantedBefore(region string, granted int64, otherRegion string, otherGranted int64) bool {
	if (granted == 0) != (otherGranted == 0) {
		return otherGranted == 0
	}
	return cmp.Or(cmp.Compare(granted, otherGranted), cmp.Compare(region, otherRegion)) < 0
}

// Live says whether a key row promises its resource to a user whose clock says now.
func (r *Row) Live(now, skew int64) bool { return r.State == Leased && r.Expires > now+skew }

// isStale says whether a key row names a resource, but as it was before a version.
func (r *Row) isStale(resource string, at int64) bool {
	return r.Resource == resource && r.ResourceVersion < at && (r.State == Leased || r.State == Pending)
}

// isSameLease says whether a key row is of a lease as its holder knows it.
func (r *Row) isSameLease(g *Grant) bool {
	return r.Resource == g.Resource && (r.State == Leased && r.ResourceVersion == g.Token || r.State == Pending && r.ResourceVersion == g.Token-1)
}

// loss is why a lease of a resource is not the holder's any more, by what its key row is now.
func (r *Row) loss(resource string) Loss {
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

// Over says whether a lease is over by every clock, when the reader's says now.
func (r *Row) Over(now, skew int64) bool { return r.Expires < now-skew }
