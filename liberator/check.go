package liberator

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
)

// ReasonHeldAndFree is why a record is refused, beside the reasons of package leasefold.
const ReasonHeldAndFree = "held_and_available"

func (l *Liberator) checkResource(r *eventspb.LeaseResource) *changes.Refusal {
	if bad := changes.CheckName("resource", r.Resource); bad != nil {
		return bad
	}
	if _, ok := l.cfg.Output(r.Owner); !ok {
		return changes.Refuse(changes.ReasonUnknownRegion, "resource %q is owned by region %q, which is none of the deployment's", r.Resource, r.Owner)
	}
	switch {
	case r.Version < 1:
		return changes.Refuse(changes.ReasonBadVersion, "resource %q has version %d", r.Resource, r.Version)
	case r.Holder != "" && r.AvailableMs != 0:
		return changes.Refuse(ReasonHeldAndFree, "resource %q is held by %q and available from %d on", r.Resource, r.Holder, r.AvailableMs)
	case r.Holder != "" && r.ExpiresMs == 0:
		return changes.Refuse(changes.ReasonNoExpires, "resource %q is held by %q without end", r.Resource, r.Holder)
	case r.ExpiresMs < 0 || r.ExpiresMs > changes.MaxMs:
		return changes.Refuse(changes.ReasonBadTime, "the lease of resource %q ends at %d", r.Resource, r.ExpiresMs)
	}
	return nil
}
