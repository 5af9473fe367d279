package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
)

// ErrNoWriteLease means that the region's write lease does not permit writes now, see WriteLease.
// ErrAdopted beside it means that another region has adopted the region's resources.
var (
	ErrNoWriteLease = errors.New("the region has no current write lease")
	ErrAdopted      = errors.New("another region has adopted its resources")
)

// WriteLease is a region's permission to grant leases. Some time after its end another region may
// adopt the resources.
type WriteLease struct {
	Region    string
	Until     int64 // Unix ms; 0: the region needs no write lease
	AdoptedBy string
}

// WriteLeases reads the write leases of all regions from the replica of region at. Replication can
// only make them older, so their ends are never later than granted.
func (t *Table) WriteLeases(ctx context.Context, at string) (map[string]WriteLease, error) {
	settings, err := t.Query(ctx, at, lease.RegionRow("").Partition)
	if err != nil {
		return nil, err
	}
	var rows []Item
	for _, item := range settings {
		if r, err := RegionOf(item); err == nil && r.State != RegionAdopted && r.WriteLease > 0 {
			if rows, err = t.Query(ctx, at, lease.WriteLeasePartition); err != nil {
				return nil, err
			}
			break
		}
	}
	return WriteLeasesOf(settings, rows)
}

// WriteLeasesOf returns the write leases of regions, from their settings and the rows of partition
// lease.WriteLeasePartition. The end of a region's write lease is the latest of its grantors' rows.
func WriteLeasesOf(settings, rows []Item) (map[string]WriteLease, error) {
	limits := make(map[string]WriteLease, len(settings))
	for _, item := range settings {
		r, err := RegionOf(item)
		l := WriteLease{Region: r.Name}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: settings of region %s: %w", ErrTable, r.Name, err)
		case r.State == RegionAdopted:
			l.Until, l.AdoptedBy = 1, r.AdoptedBy
		case r.WriteLease > 0:
			l.Until = 1 // ended: until a row is found, no grantor has renewed it
		}
		limits[r.Name] = l
	}
	for _, item := range rows {
		region, by, ok := lease.ParseWriteLeaseSort(Text(item, SK))
		l := limits[region]
		if !ok || l.Until == 0 || l.AdoptedBy != "" {
			continue
		}
		until, err := Number(item, WriteLeaseUntilMs)
		if err != nil {
			return nil, fmt.Errorf("%w: write lease of region %s by %s: %w", ErrTable, region, by, err)
		}
		l.Until = max(l.Until, until)
		limits[region] = l
	}
	return limits, nil
}

// Check returns an error if a write that begins now and takes up to flight could arrive after the
// end of the write lease by any clock.
func (l *WriteLease) Check(now time.Time, skew, flight time.Duration) error {
	switch {
	case l.Until == 0 || now.Add(flight+skew).UnixMilli() <= l.Until:
		return nil
	case l.AdoptedBy != "":
		return fmt.Errorf("region %s: %w: %w: %s", l.Region, ErrNoWriteLease, ErrAdopted, l.AdoptedBy)
	case l.Until <= 1:
		return fmt.Errorf("region %s: %w: no other region has renewed it yet", l.Region, ErrNoWriteLease)
	default:
		return fmt.Errorf(
			"region %s: %w: it ended at %s, and no other region has renewed it: the region is cut off, or no other region runs an executor",
			l.Region, ErrNoWriteLease, time.UnixMilli(l.Until).UTC().Format(time.RFC3339))
	}
}
