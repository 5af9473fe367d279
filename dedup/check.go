package dedup

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
	ReasonUnknownState  = "unknown_state"
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

func (d *Dedup) checkKey(k *eventspb.LeaseKey) *refusal {
	if err := lease.CheckName("key", k.Key, lease.MaxKey); err != nil {
		return &refusal{ReasonBadName, err.Error()}
	}
	if _, ok := d.cfg.Output(k.Region); !ok {
		return refuse(ReasonUnknownRegion, "key %q has a row of region %q, which is none of the deployment's", k.Key, k.Region)
	}
	if k.Version < 1 {
		return refuse(ReasonBadVersion, "key %q in %s has version %d", k.Key, k.Region, k.Version)
	}
	switch s := lease.State(k.State); s {
	case lease.Pending, lease.Leased:
		if err := lease.CheckName("resource", k.Resource, lease.MaxKey); err != nil {
			return &refusal{ReasonBadName, err.Error()}
		}
		if k.ExpiresMs == 0 {
			return refuse(ReasonNoExpires, "key %q in %s is %s without end", k.Key, k.Region, s)
		}
	case lease.Released, lease.Superseded:
	default:
		return refuse(ReasonUnknownState, "key %q in %s is %q", k.Key, k.Region, k.State)
	}
	if k.ExpiresMs < 0 || k.ExpiresMs > maxMs || k.GrantedMs < 0 || k.GrantedMs > maxMs {
		return refuse(ReasonBadTime, "the lease of key %q in %s was granted at %d and ends at %d", k.Key, k.Region, k.GrantedMs, k.ExpiresMs)
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
	switch p.Duplicates {
	case "", modeObserve, modeSupersede, modeRelease:
		return nil
	}
	return refuse(ReasonBadSettings, "duplicates are to be treated by %q: it is observe, supersede or release", p.Duplicates)
}
