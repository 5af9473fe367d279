package changes

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Bounds of the settings of a pool, as in the schema of the table.
const (
	MaxQuarantineMs = 366 * 24 * 3600 * 1000
	maxBuckets      = 1000
)

// SettingsVersion requires a version of at least 1.
func SettingsVersion(c *Change, p *eventspb.LeasePool) error {
	return CheckVersion(p.Version, "pool", c.Pool)
}

// QuarantineWithin requires a quarantine between 0 and maxMs.
func QuarantineWithin(maxMs int64) Rule[*eventspb.LeasePool] {
	return func(_ *Change, p *eventspb.LeasePool) error {
		if p.QuarantineMs < 0 || p.QuarantineMs > maxMs {
			return stream.Rejectf(ReasonBadSettings, "a quarantine of %d ms: 0 to %d are allowed", p.QuarantineMs, maxMs)
		}
		return nil
	}
}

// BucketsInRange requires between 1 and 1,000 buckets.
func BucketsInRange(_ *Change, p *eventspb.LeasePool) error {
	if p.Buckets < 1 || p.Buckets > maxBuckets {
		return stream.Rejectf(ReasonBadSettings, "%d buckets: 1 to %d are allowed", p.Buckets, maxBuckets)
	}
	return nil
}
