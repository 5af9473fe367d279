package liberator

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
)

// The reasons for which a record is refused.
const (
	ReasonUndecodable   = "undecodable"
	ReasonNoRow         = "no_row" // none of those that this version knows
	ReasonBadName       = "bad_name"
	ReasonBadVersion    = "bad_version"
	ReasonUnknownRegion = "unknown_region"
	ReasonHeldAndFree   = "held_and_available"
	ReasonNoExpires     = "no_expires"
	ReasonBadTime       = "bad_time"
	ReasonBadSettings   = "bad_settings"
)

// Bounds of what a row may say. They keep sums of times far from the end of int64.
const (
	maxMs           = 253_402_300_799_999    // the last of year 9999
	maxQuarantineMs = 366 * 24 * 3600 * 1000 // what the settings' schema allows
	maxShelves      = 1000
)

type refusal struct{ reason, detail string }

func refuse(reason, format string, args ...any) *refusal {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// checkNames looks at the client and the pool, without which no row has a place.
func checkNames(c *eventspb.LeaseChange) *refusal {
	err := lease.CheckName("client", c.Client, lease.MaxName)
	if err == nil {
		err = lease.CheckName("pool", c.Pool, lease.MaxName)
	}
	if err != nil {
		return &refusal{ReasonBadName, err.Error()}
	}
	return nil
}

func (l *Liberator) checkResource(r *eventspb.LeaseResource) *refusal {
	if err := lease.CheckName("resource", r.Resource, lease.MaxKey); err != nil {
		return &refusal{ReasonBadName, err.Error()}
	}
	if _, ok := l.cfg.Output(r.Owner); !ok {
		return refuse(ReasonUnknownRegion, "resource %q is owned by region %q, which is none of the deployment's", r.Resource, r.Owner)
	}
	switch {
	case r.Version < 1:
		return refuse(ReasonBadVersion, "resource %q has version %d", r.Resource, r.Version)
	case r.Holder != "" && r.AvailableMs != 0:
		return refuse(ReasonHeldAndFree, "resource %q is held by %q and available from %d on", r.Resource, r.Holder, r.AvailableMs)
	case r.Holder != "" && r.ExpiresMs == 0:
		return refuse(ReasonNoExpires, "resource %q is held by %q without end", r.Resource, r.Holder)
	case r.ExpiresMs < 0 || r.ExpiresMs > maxMs:
		return refuse(ReasonBadTime, "the lease of resource %q ends at %d", r.Resource, r.ExpiresMs)
	}
	return nil
}

func checkSettings(p *eventspb.LeasePool) *refusal {
	switch {
	case p.Version < 1:
		return refuse(ReasonBadVersion, "the settings have version %d", p.Version)
	case p.QuarantineMs < 0 || p.QuarantineMs > maxQuarantineMs:
		return refuse(ReasonBadSettings, "a quarantine of %d ms: it is between 0 and %d", p.QuarantineMs, int64(maxQuarantineMs))
	case p.Shelves < 1 || p.Shelves > maxShelves:
		return refuse(ReasonBadSettings, "%d sub-partitions: between 1 and %d are allowed", p.Shelves, maxShelves)
	}
	return nil
}
