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

// maxSettingsUse is the time for which an agent uses settings that it cannot read again: 10 times
// agent.Config.SettingsTTL.
const maxSettingsUse = 5 * time.Minute

// closeWriteLeases ends the renewal of a region's write lease at all grantors, and returns the time
// after which nothing is written through the region: the end of its write lease.
//
// Each grantor's row is closed through the grantor's endpoint, because a grantor that does not
// answer may still renew it for the lost region. A write lease binds a region only if the region
// knows of it: the heartbeats of the region show which settings it has seen, and its agents may use
// older settings for maxSettingsUse. Where this is unknown, DeadSince asserts it. In any case the
// adoption waits for the ends that grantors have granted, since the lost region may receive them
// when it is back.
func (a *Admin) closeWriteLeases(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	for range 10 {
		until, open, err := a.endOfWrites(ctx, r, o)
		if err != nil {
			return time.Time{}, err
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
	return time.Time{}, fmt.Errorf("%s: %w", r, ErrVersionConflict)
}

// endOfWrites returns the time, Unix ms, after which nothing is written through a region if no
// grantor renews its write lease from now on, and the rows of grantors that still may.
func (a *Admin) endOfWrites(ctx context.Context, r *Region, o *Adoption) (until int64, open []*writeLease, err error) {
	rows, err := a.grantors(ctx, r, o)
	if err != nil {
		return 0, nil, err
	}
	for _, row := range rows {
		if until = max(until, row.until); !row.closed {
			open = append(open, row)
		}
	}
	switch {
	case !o.DeadSince.IsZero():
		until = max(until, o.DeadSince.UnixMilli())
	case len(open) > 0:
		until, err = a.writeLeaseEnd(ctx, r, rows, o.By)
	}
	return until, open, err
}

// grantors reads the rows of a region's write lease, each through its grantor's endpoint: of all
// present regions, whether they have renewed it yet or not, and of former regions. With DeadSince,
// grantors that do not answer are left out.
func (a *Admin) grantors(ctx context.Context, r *Region, o *Adoption) ([]*writeLease, error) {
	regions, err := List(ctx, a, Region{})
	if err != nil {
		return nil, err
	}
	items, err := a.table.Query(ctx, a.home(), lease.WriteLeasePartition)
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{} // false: a former region
	var known []*writeLease
	for _, item := range items {
		region, by, ok := lease.ParseWriteLeaseSort(table.Text(item, table.SK))
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
				return nil, fmt.Errorf("%w: %s is or was the home region, which renews its own write lease: %w",
					ErrInvalid, r, ErrNoFence)
			}
			row.endpoint, row.versionJump = a.home(), lease.AdoptedVersionJump
			rows = append(rows, row)
		case silent[row.grantor] != nil && !declared[row.grantor]: // a deleted region: its last renewal counts
			if delete(silent, row.grantor); o.DeadSince.IsZero() {
				row.closed = true
				rows = append(rows, row)
			}
		}
	}
	if len(silent) > 0 && o.DeadSince.IsZero() {
		by := slices.Sorted(maps.Keys(silent))[0]
		return nil, fmt.Errorf(
			"%s is a grantor of %s and does not answer: retry when it does, or assert since when nothing was written there: %w: %w",
			by, r, ErrNoFence, silent[by])
	}
	return slices.DeleteFunc(rows, func(row *writeLease) bool { return row == nil }), nil
}

// writeLeaseEnd returns the end of a region's write lease, if the region is known to follow it.
func (a *Admin) writeLeaseEnd(ctx context.Context, r *Region, rows []*writeLease, by string) (int64, error) {
	heartbeat, err := a.table.Get(ctx, by, lease.HeartbeatRow(r.Region))
	if err != nil {
		return 0, err
	}
	number := func(name string) (n int64) {
		if _, there := heartbeat[name]; there && err == nil {
			n, err = table.Number(heartbeat, name)
		}
		return n
	}
	until := int64(0)
	for _, row := range rows {
		until = max(until, row.until)
	}
	seen, at := number(table.SettingsSeenMs), number(table.HeartbeatMs)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: heartbeat of region %s: %w", table.ErrTable, r.Region, err)
	case until == 0 || until < r.writeLeaseSince.UnixMilli():
		return 0, fmt.Errorf(
			"%w: %s has a write lease that no grantor has renewed yet: run an executor of another region, or assert since when nothing was written there: %w", ErrInvalid, r, ErrNoFence)
	case seen < r.writeLeaseSince.UnixMilli():
		return 0, fmt.Errorf("%w: %s has sent no heartbeat since it has a write lease, so its agents may not follow it: %w", ErrInvalid, r,
			ErrNoFence)
	}
	return max(until, at+maxSettingsUse.Milliseconds()), nil
}

// Readmit makes an adopted region a normal region again. Its former resources stay with their
// owners. A grantor that does not answer renews its write lease only after Readmit was repeated.
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
	if r.State != table.RegionAdopted {
		return r, nil
	}
	r.State, r.AdoptedBy = table.RegionActive, ""
	return r, put(ctx, a, &r, ErrVersionConflict)
}

// reopenWriteLease permits a grantor to renew a region's write lease again.
func (a *Admin) reopenWriteLease(ctx context.Context, region, by string) error {
	row, err := a.readWriteLease(ctx, by, region, by)
	if err == nil && row.closed {
		row.closed = false
		_, err = row.put(ctx, a, by)
	}
	return err
}
