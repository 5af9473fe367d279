package changes

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// The reasons for which a record is refused, by whichever core.
const (
	ReasonUndecodable   = "undecodable"
	ReasonNoRow         = "no_row" // none of those that this version knows
	ReasonBadName       = "bad_name"
	ReasonBadVersion    = "bad_version"
	ReasonUnknownRegion = "unknown_region"
	ReasonNoExpires     = "no_expires"
	ReasonBadTime       = "bad_time"
	ReasonBadSettings   = "bad_settings"
)

// Bounds of what a row may say. They keep sums of times far from the end of int64.
const (
	MaxMs           = 253_402_300_799_999    // the last of year 9999
	maxQuarantineMs = 366 * 24 * 3600 * 1000 // what the settings' schema allows
	maxBuckets      = 1000
)

// Refusal is why a change is refused.
type Refusal struct{ Reason, Detail string }

// Refuse makes one.
func Refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

// CheckName refuses a name that cannot be one.
func CheckName(what, name string) *Refusal {
	if err := lease.CheckName(what, name, lease.MaxKey); err != nil {
		return &Refusal{ReasonBadName, err.Error()}
	}
	return nil
}

// CheckNames looks at the client and the pool, without which no row has a place.
func CheckNames(c *eventspb.LeaseChange) *Refusal {
	err := lease.CheckName("client", c.Client, lease.MaxName)
	if err == nil {
		err = lease.CheckName("pool", c.Pool, lease.MaxName)
	}
	if err != nil {
		return &Refusal{ReasonBadName, err.Error()}
	}
	return nil
}

// CheckSettings looks at what all cores need of a pool's settings.
func CheckSettings(p *eventspb.LeasePool) *Refusal {
	switch {
	case p.Version < 1:
		return Refuse(ReasonBadVersion, "the settings have version %d", p.Version)
	case p.QuarantineMs < 0 || p.QuarantineMs > maxQuarantineMs:
		return Refuse(ReasonBadSettings, "a quarantine of %d ms: it is between 0 and %d", p.QuarantineMs, int64(maxQuarantineMs))
	case p.Buckets < 1 || p.Buckets > maxBuckets:
		return Refuse(ReasonBadSettings, "%d sub-partitions: between 1 and %d are allowed", p.Buckets, maxBuckets)
	}
	return nil
}
