package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// closed is the attribute of a region's lease that nobody may extend any more.
const closed = "closed"

// Extend lets the agents of each region that has a region lease write for that long from now on, unless the region was
// adopted or is about to be. Whoever runs the executor of the settings' region calls it many times in the shortest of them.
func (a *Admin) Extend(ctx context.Context) error {
	regions, err := List(ctx, a, Region{})
	if err != nil {
		return err
	}
	var errs []error
	for i := range regions {
		if r := &regions[i]; r.RegionLease > 0 && r.State != leasetable.Adopted {
			errs = append(errs, a.extend(ctx, r))
		}
	}
	return errors.Join(errs...)
}

func (a *Admin) extend(ctx context.Context, r *Region) error {
	row, err := a.regionLease(ctx, r.Region)
	until := time.Now().Add(time.Duration(r.RegionLease)).UnixMilli()
	if err != nil || row.closed || row.until >= until {
		return err
	}
	row.until = until
	_, err = row.put(ctx, a) // if somebody was faster, it is extended, or closed
	return err
}

// hold is for how long an agent goes on with settings that it cannot read again: 10 times agent.Config.SettingsTTL.
const hold = 5 * time.Minute

// closeRegion has nobody extend a region's lease any more, and gives the time after which nothing is written through it: as the
// operator says, or the end of its lease. The latter binds only a region that has heard of it: its beats say of what settings,
// and for some time after that an agent there may still have gone by those before.
func (a *Admin) closeRegion(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	for range 10 {
		row, err := a.regionLease(ctx, r.Region)
		if err != nil {
			return time.Time{}, err
		}
		if row.closed && o.DeadSince.IsZero() {
			return time.UnixMilli(row.until), nil
		}
		until := o.DeadSince.UnixMilli()
		if o.DeadSince.IsZero() {
			if until, err = a.bound(ctx, r, &row, o.By); err != nil {
				return time.Time{}, err
			}
		}
		row.closed, row.until = true, until
		if ok, err := row.put(ctx, a); ok || err != nil {
			return time.UnixMilli(row.until), err
		}
	}
	return time.Time{}, fmt.Errorf("%s: %w", r, ErrChanged)
}

// bound is the end of a region's lease, which is row, if the region is known to go by it.
func (a *Admin) bound(ctx context.Context, r *Region, row *limitRow, by string) (int64, error) {
	beat, err := a.table.Get(ctx, by, lease.BeatRow(r.Region))
	if err != nil {
		return 0, err
	}
	number := func(name string) (n int64) {
		if _, there := beat[name]; there && err == nil {
			n, err = leasetable.Number(beat, name)
		}
		return n
	}
	heard, at := number(leasetable.HeardMs), number(leasetable.BeatMs)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: beat of region %s: %w", leasetable.ErrTable, r.Region, err)
	case row.version == 0 || row.until < r.since.UnixMilli():
		return 0, fmt.Errorf("%w: %s has a region lease that nobody has extended yet: run an executor of %s, or say since when nothing is written through the region", ErrInvalid, r, a.home())
	case heard < r.since.UnixMilli():
		return 0, fmt.Errorf("%w: %s has not been heard of since it has a region lease, so nobody knows that its agents go by it: say since when they certainly write nothing", ErrInvalid, r)
	}
	return max(row.until, at+hold.Milliseconds()), nil
}

// Readmit makes an adopted region one like the others again. What it had stays where it is now.
func (a *Admin) Readmit(ctx context.Context, region string) (Region, error) {
	r, err := Get(ctx, a, Region{Region: region})
	if err == nil {
		err = a.mine(&r, r.writer)
	}
	if err != nil {
		return r, err
	}
	row, err := a.regionLease(ctx, region)
	if err == nil && row.closed {
		row.closed = false
		_, err = row.put(ctx, a)
	}
	if err != nil || r.State != leasetable.Adopted {
		return r, err
	}
	r.State, r.AdoptedBy = leasetable.Active, ""
	return r, put(ctx, a, &r, ErrChanged)
}

// limitRow is the row of a region's lease.
type limitRow struct {
	region  string
	version int64
	until   int64
	closed  bool
}

func (a *Admin) regionLease(ctx context.Context, region string) (limitRow, error) {
	l := limitRow{region: region}
	item, err := a.table.Get(ctx, a.home(), lease.RegionLeaseRow(region))
	if err != nil || item == nil {
		return l, err
	}
	if l.version, err = leasetable.Number(item, leasetable.Version); err == nil {
		l.until, err = leasetable.Number(item, leasetable.LeaseUntilMs)
	}
	if err != nil {
		return l, fmt.Errorf("%w: lease of region %s: %w", leasetable.ErrTable, region, err)
	}
	l.closed = leasetable.Text(item, closed) != ""
	return l, nil
}

// put writes l, if it is as it was read.
func (l *limitRow) put(ctx context.Context, a *Admin) (bool, error) {
	expect := leasetable.Expect{}
	if l.version > 0 {
		expect = leasetable.Expect{Version: l.version, Writer: a.home()}
	}
	item := leasetable.PrimaryKey(lease.RegionLeaseRow(l.region))
	item[leasetable.Version], item[leasetable.LeaseUntilMs], item[leasetable.WriterRegion] = leasetable.N(l.version+1), leasetable.N(l.until), leasetable.S(a.home())
	if l.closed {
		item[closed] = leasetable.S(time.Now().UTC().Format(time.RFC3339))
	}
	_, ok, err := a.table.Put(ctx, a.home(), item, expect)
	return ok, err
}
