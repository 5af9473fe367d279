package dedup

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/changes"
)

// ReasonUnknownState is why a record is refused, beside the reasons of package leasefold.
const ReasonUnknownState = "unknown_state"

func (d *Dedup) checkKey(k *eventspb.LeaseKey) *changes.Refusal {
	if bad := changes.CheckName("key", k.Key); bad != nil {
		return bad
	}
	if _, ok := d.cfg.Output(k.Region); !ok {
		return changes.Refuse(changes.ReasonUnknownRegion, "key %q has a row of region %q, which is none of the deployment's", k.Key, k.Region)
	}
	if k.Version < 1 {
		return changes.Refuse(changes.ReasonBadVersion, "key %q in %s has version %d", k.Key, k.Region, k.Version)
	}
	switch s := lease.State(k.State); s {
	case lease.Pending, lease.Leased:
		if bad := changes.CheckName("resource", k.Resource); bad != nil {
			return bad
		}
		if k.ExpiresMs == 0 {
			return changes.Refuse(changes.ReasonNoExpires, "key %q in %s is %s without end", k.Key, k.Region, s)
		}
	case lease.Released, lease.Superseded:
	default:
		return changes.Refuse(ReasonUnknownState, "key %q in %s is %q", k.Key, k.Region, k.State)
	}
	if k.ExpiresMs < 0 || k.ExpiresMs > changes.MaxMs || k.GrantedMs < 0 || k.GrantedMs > changes.MaxMs {
		return changes.Refuse(changes.ReasonBadTime, "the lease of key %q in %s was granted at %d and ends at %d", k.Key, k.Region, k.GrantedMs, k.ExpiresMs)
	}
	return nil
}

func checkSettings(p *eventspb.LeasePool) *changes.Refusal {
	if bad := changes.CheckSettings(p); bad != nil {
		return bad
	}
	switch p.Duplicates {
	case "", modeObserve, modeSupersede, modeRelease:
		return nil
	}
	return changes.Refuse(changes.ReasonBadSettings, "duplicates are to be treated by %q: it is observe, supersede or release", p.Duplicates)
}
