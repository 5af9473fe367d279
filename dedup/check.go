package dedup

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasefold"
)

// ReasonUnknownState is why a record is refused, beside the reasons of package leasefold.
const ReasonUnknownState = "unknown_state"

func (d *Dedup) checkKey(k *eventspb.LeaseKey) *leasefold.Refusal {
	if bad := leasefold.CheckName("key", k.Key); bad != nil {
		return bad
	}
	if _, ok := d.cfg.Output(k.Region); !ok {
		return leasefold.Refuse(leasefold.ReasonUnknownRegion, "key %q has a row of region %q, which is none of the deployment's", k.Key, k.Region)
	}
	if k.Version < 1 {
		return leasefold.Refuse(leasefold.ReasonBadVersion, "key %q in %s has version %d", k.Key, k.Region, k.Version)
	}
	switch s := lease.State(k.State); s {
	case lease.Pending, lease.Leased:
		if bad := leasefold.CheckName("resource", k.Resource); bad != nil {
			return bad
		}
		if k.ExpiresMs == 0 {
			return leasefold.Refuse(leasefold.ReasonNoExpires, "key %q in %s is %s without end", k.Key, k.Region, s)
		}
	case lease.Released, lease.Superseded:
	default:
		return leasefold.Refuse(ReasonUnknownState, "key %q in %s is %q", k.Key, k.Region, k.State)
	}
	if k.ExpiresMs < 0 || k.ExpiresMs > leasefold.MaxMs || k.GrantedMs < 0 || k.GrantedMs > leasefold.MaxMs {
		return leasefold.Refuse(leasefold.ReasonBadTime, "the lease of key %q in %s was granted at %d and ends at %d", k.Key, k.Region, k.GrantedMs, k.ExpiresMs)
	}
	return nil
}

func checkSettings(p *eventspb.LeasePool) *leasefold.Refusal {
	if bad := leasefold.CheckSettings(p); bad != nil {
		return bad
	}
	switch p.Duplicates {
	case "", modeObserve, modeSupersede, modeRelease:
		return nil
	}
	return leasefold.Refuse(leasefold.ReasonBadSettings, "duplicates are to be treated by %q: it is observe, supersede or release", p.Duplicates)
}
