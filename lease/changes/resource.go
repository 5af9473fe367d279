package changes

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// MaxMs is the end of the year 9999, Unix ms. Times up to it can be added without overflow.
const MaxMs = 253_402_300_799_999

// ResourceVersion requires a version of at least 1.
func ResourceVersion(_ *Change, r *eventspb.LeaseResource) error {
	return CheckVersion(r.Version, "resource", r.Resource)
}

// OwnerDeclared requires that the region that owns the resource is declared.
func OwnerDeclared(declared func(region string) bool) Rule[*eventspb.LeaseResource] {
	return func(_ *Change, r *eventspb.LeaseResource) error {
		if !declared(r.Owner) {
			return stream.Rejectf(ReasonUnknownRegion, "resource %q is owned by region %q, which is not declared", r.Resource, r.Owner)
		}
		return nil
	}
}

// HeldOrAvailable requires that a leased resource is not available at the same time.
func HeldOrAvailable(_ *Change, r *eventspb.LeaseResource) error {
	if r.Holder != "" && r.AvailableMs != 0 {
		return stream.Rejectf(ReasonHeldAndAvailable, "resource %q is leased by %q and available from %d", r.Resource, r.Holder,
			r.AvailableMs)
	}
	return nil
}

// HeldUntil requires that a lease has an end.
func HeldUntil(_ *Change, r *eventspb.LeaseResource) error {
	if r.Holder != "" && r.ExpiresMs == 0 {
		return stream.Rejectf(ReasonNoExpires, "resource %q is leased by %q without an end", r.Resource, r.Holder)
	}
	return nil
}

// ExpiresWithin requires that the end of the lease is between 0 and maxMs.
func ExpiresWithin(maxMs int64) Rule[*eventspb.LeaseResource] {
	return func(_ *Change, r *eventspb.LeaseResource) error {
		if r.ExpiresMs < 0 || r.ExpiresMs > maxMs {
			return stream.Rejectf(ReasonBadTime, "the lease of resource %q ends at %d: 0 to %d are allowed", r.Resource, r.ExpiresMs, maxMs)
		}
		return nil
	}
}

// AvailableWithin requires that the time from which the resource is available is between 0 and
// maxMs.
func AvailableWithin(maxMs int64) Rule[*eventspb.LeaseResource] {
	return func(_ *Change, r *eventspb.LeaseResource) error {
		if r.AvailableMs < 0 || r.AvailableMs > maxMs {
			return stream.Rejectf(ReasonBadTime, "resource %q is available from %d: 0 to %d are allowed", r.Resource, r.AvailableMs, maxMs)
		}
		return nil
	}
}
