package leasetable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/lease"
)

// ErrRegion says that nothing may be written through a region now: see Limit.
var ErrRegion = errors.New("the region may not lease now")

// Limit is until when leases may be written through a region. Others may adopt its resources some time after it.
type Limit struct {
	Region string
	Until  int64 // Unix ms; 0: there is no limit
	By     string
}

// LimitOf reads a region's limit as region at has it: what it knows is never later than what was granted. settings is the
// region's row, as it is there.
func (t *Table) LimitOf(ctx context.Context, at string, settings Item) (Limit, error) {
	r, err := RegionOf(settings)
	region := r.Name
	l := Limit{Region: region}
	switch {
	case err != nil:
		return l, fmt.Errorf("%w: settings of region %s: %w", ErrTable, region, err)
	case r.State == Adopted:
		l.Until, l.By = 1, r.AdoptedBy
		return l, nil
	case r.Lease == 0:
		return l, nil
	}
	item, err := t.Get(ctx, at, lease.RegionLeaseRow(region))
	if err != nil {
		return l, err
	}
	if l.Until = 1; item != nil { // without a row nobody has extended it yet
		if l.Until, err = Number(item, LeaseUntilMs); err != nil {
			return l, fmt.Errorf("%w: lease of region %s: %w", ErrTable, region, err)
		}
	}
	return l, nil
}

// Check says whether a write that begins now, and takes no longer than flight, is over before the limit by every clock.
func (l *Limit) Check(now time.Time, skew, flight time.Duration) error {
	switch {
	case l.Until == 0 || now.Add(flight+skew).UnixMilli() <= l.Until:
		return nil
	case l.By != "":
		return fmt.Errorf("%w: %s has adopted the resources of %s (weir region adopt --undo gives it back)", ErrRegion, l.By, l.Region)
	default:
		return fmt.Errorf("%w: the lease of region %s ended at %s and nobody has extended it: the region of the settings cannot be heard, or no executor runs there",
			ErrRegion, l.Region, time.UnixMilli(l.Until).UTC().Format(time.RFC3339))
	}
}
