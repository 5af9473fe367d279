package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
)

// ErrNoWriteLease says that nothing may be written through a region now: see Limit.
var ErrNoWriteLease = errors.New("the region may not lease now")

// WriteLease is until when leases may be written through a region. Others may adopt its resources some time after it.
type WriteLease struct {
	Region    string
	Until     int64 // Unix ms; 0: there is no limit
	AdoptedBy string
}

// WriteLeases reads until when something may be written through each region, as region at has it: what it knows is never later than what
// was granted.
func (t *Table) WriteLeases(ctx context.Context, at string) (map[string]WriteLease, error) {
	settings, err := t.Query(ctx, at, lease.RegionRow("").Partition)
	if err != nil {
		return nil, err
	}
	var rows []Item
	for _, item := range settings {
		if r, err := RegionOf(item); err == nil && r.State != Adopted && r.WriteLease > 0 {
			if rows, err = t.Query(ctx, at, lease.WriteLeases); err != nil {
				return nil, err
			}
			break
		}
	}
	return WriteLeasesOf(settings, rows)
}

// WriteLeasesOf gives the limits of regions by their settings and the rows of RegionLeases: each region's is what it was granted last, by
// whomever.
func WriteLeasesOf(settings, rows []Item) (map[string]WriteLease, error) {
	limits := make(map[string]WriteLease, len(settings))
	for _, item := range settings {
		r, err := RegionOf(item)
		l := WriteLease{Region: r.Name}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: settings of region %s: %w", ErrTable, r.Name, err)
		case r.State == Adopted:
			l.Until, l.AdoptedBy = 1, r.AdoptedBy
		case r.WriteLease > 0:
			l.Until = 1 // without a row nobody has vouched for it yet
		}
		limits[r.Name] = l
	}
	for _, item := range rows {
		region, by, ok := lease.WriteLeaseOf(Text(item, SK))
		l := limits[region]
		if !ok || l.Until == 0 || l.AdoptedBy != "" {
			continue
		}
		until, err := Number(item, WriteLeaseUntilMs)
		if err != nil {
			return nil, fmt.Errorf("%w: lease of region %s by %s: %w", ErrTable, region, by, err)
		}
		l.Until = max(l.Until, until)
		limits[region] = l
	}
	return limits, nil
}

// Check says whether a write that begins now, and takes no longer than flight, is over before the limit by every clock.
func (l *WriteLease) Check(now time.Time, skew, flight time.Duration) error {
	switch {
	case l.Until == 0 || now.Add(flight+skew).UnixMilli() <= l.Until:
		return nil
	case l.AdoptedBy != "":
		return fmt.Errorf("%w: %s has adopted the resources of %s (weir region adopt --undo gives it back)", ErrNoWriteLease, l.AdoptedBy, l.Region)
	default:
		return fmt.Errorf("%w: the lease of region %s ended at %s and no other region has extended it: none can be heard there, or none runs an executor",
			ErrNoWriteLease, l.Region, time.UnixMilli(l.Until).UTC().Format(time.RFC3339))
	}
}
