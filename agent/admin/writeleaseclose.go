package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// maxSettingsUse is for how long an agent goes on with settings that it cannot read again: 10 times agent.Config.SettingsTTL.
const maxSettingsUse = 5 * time.Minute

// closeWriteLeases has nobody vouch for a region any more, and gives the time after which nothing is written through it: the end of its
// lease. That is closed by each voucher's own endpoint: what one that does not answer goes on to say is known to nobody but, perhaps, the
// region. And it binds only a region that has heard of its lease: its beats say of what settings, and for some time after that an agent
// there may still have gone by those before. Where that is not known the operator's word stands for it. All the same it is waited for what
// others have said: that may reach the region first, should it be back soon.
func (a *Admin) closeWriteLeases(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	for range 10 {
		rows, err := a.grantors(ctx, r, o)
		if err != nil {
			return time.Time{}, err
		}
		until, open := int64(0), []*writeLease{}
		for _, row := range rows {
			if until = max(until, row.until); !row.closed {
				open = append(open, row)
			}
		}
		switch {
		case !o.DeadSince.IsZero():
			until = max(until, o.DeadSince.UnixMilli())
		case len(open) > 0:
			if until, err = a.writeLeaseEnd(ctx, r, rows, o.By); err != nil {
				return time.Time{}, err
			}
		}
		done := true
		for _, row := range open {
			row.closed, row.until = true, until
			ok, err := row.put(ctx, a, row.endpoint)
			if err != nil {
				return time.Time{}, err
			}
			done = done && ok
		}
		if done {
			return time.UnixMilli(until), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %w", r, ErrChanged)
}

// grantors reads the rows by which a region may lease, each where it is written: of all regions that are declared, whether they have
// vouched yet or not, and of those that once were. Where the operator's word counts, those that do not answer are left out.
func (a *Admin) grantors(ctx context.Context, r *Region, o *Adoption) ([]*writeLease, error) {
	regions, err := List(ctx, a, Region{})
	if err != nil {
		return nil, err
	}
	items, err := a.table.Query(ctx, a.home(), lease.WriteLeases)
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{} // or not
	var known []*writeLease
	for _, item := range items {
		region, by, ok := lease.WriteLeaseOf(table.Text(item, table.SK))
		if !ok || region != r.Region {
			continue
		}
		row, err := writeLeaseOf(region, by, item)
		if err != nil {
			return nil, err
		}
		known = append(known, &row)
		declared[by] = false
	}
	for i := range regions {
		declared[regions[i].Region] = true
	}
	delete(declared, r.Region)
	names := slices.Sorted(maps.Keys(declared))
	rows, silent := make([]*writeLease, len(names)), map[string]error{}
	a.eachRegion(names, func(i int, by string) error {
		item, err := a.table.Get(ctx, by, lease.WriteLeaseRow(r.Region, by))
		if err != nil {
			return err
		}
		row, err := writeLeaseOf(r.Region, by, item)
		rows[i] = &row
		return err
	}, silent)
	for _, row := range known {
		switch {
		case row.grantor == r.Region:
			if !row.closed && o.DeadSince.IsZero() {
				return nil, fmt.Errorf("%w: %s is or was the home and vouches for itself: only you can say since when it does not: weir region adopt %s --by %s --dead-since TIME",
					ErrInvalid, r, r.Region, o.By)
			}
			row.endpoint, row.versionJump = a.home(), lease.AdoptedVersionJump
			rows = append(rows, row)
		case silent[row.grantor] != nil && !declared[row.grantor]: // it was deleted: what it said last holds
			if delete(silent, row.grantor); o.DeadSince.IsZero() {
				row.closed = true
				rows = append(rows, row)
			}
		}
	}
	if len(silent) > 0 && o.DeadSince.IsZero() {
		by := slices.Sorted(maps.Keys(silent))[0]
		return nil, fmt.Errorf("%s may vouch for %s, and does not answer: once it does, try again; or say since when nothing is written through %s: weir region adopt %s --by %s --dead-since TIME: %w",
			by, r, r.Region, r.Region, o.By, silent[by])
	}
	return slices.DeleteFunc(rows, func(row *writeLease) bool { return row == nil }), nil
}

// writeLeaseEnd is the end of a region's lease, by its rows, if the region is known to go by it.
func (a *Admin) writeLeaseEnd(ctx context.Context, r *Region, rows []*writeLease, by string) (int64, error) {
	beat, err := a.table.Get(ctx, by, lease.HeartbeatRow(r.Region))
	if err != nil {
		return 0, err
	}
	number := func(name string) (n int64) {
		if _, there := beat[name]; there && err == nil {
			n, err = table.Number(beat, name)
		}
		return n
	}
	until := int64(0)
	for _, row := range rows {
		until = max(until, row.until)
	}
	heard, at := number(table.SettingsSeenMs), number(table.HeartbeatMs)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: beat of region %s: %w", table.ErrTable, r.Region, err)
	case until == 0 || until < r.writeLeaseSince.UnixMilli():
		return 0, fmt.Errorf("%w: %s has a region lease that nobody has extended yet: run an executor of another region, or say since when nothing is written through it", ErrInvalid, r)
	case heard < r.writeLeaseSince.UnixMilli():
		return 0, fmt.Errorf("%w: %s has not been heard of since it has a region lease, so nobody knows that its agents go by it: say since when they certainly write nothing", ErrInvalid, r)
	}
	return max(until, at+maxSettingsUse.Milliseconds()), nil
}

// Readmit makes an adopted region one like the others again. What it had stays where it is now. A region that does not answer vouches
// for it only once this was done again.
func (a *Admin) Readmit(ctx context.Context, region string) (Region, error) {
	r, err := Get(ctx, a, Region{Region: region})
	if err == nil {
		err = a.checkWriter(&r, r.writer)
	}
	if err != nil {
		return r, err
	}
	regions, err := List(ctx, a, Region{})
	if err != nil {
		return r, err
	}
	var names []string
	for i := range regions {
		names = append(names, regions[i].Region)
	}
	failed := map[string]error{}
	a.eachRegion(others(names, region), func(_ int, by string) error { return a.reopenWriteLease(ctx, region, by) }, failed)
	if err := failed[a.home()]; err != nil {
		return r, err
	}
	if r.State != table.Adopted {
		return r, nil
	}
	r.State, r.AdoptedBy = table.Active, ""
	return r, put(ctx, a, &r, ErrChanged)
}

// reopenWriteLease lets a region vouch for one again.
func (a *Admin) reopenWriteLease(ctx context.Context, region, by string) error {
	row, err := a.readWriteLease(ctx, by, region, by)
	if err == nil && row.closed {
		row.closed = false
		_, err = row.put(ctx, a, by)
	}
	return err
}
