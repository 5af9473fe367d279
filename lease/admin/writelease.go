package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// WriteLeaseStatus is a region's own write lease, as the region knows it.
type WriteLeaseStatus struct {
	Term    time.Duration // 0: the region needs none
	Expires time.Time     // zero: no region has renewed it yet
}

// RenewWriteLeases renews the write leases of all other regions for which region by is a grantor,
// for one term each. The process that runs the executor of by calls it many times in the shortest
// term. It sends requests to by only. A region that was adopted, or is being adopted, gets no
// renewal.
//
// The home region also renews its own write lease, while that has not ended: of two regions that do
// not hear each other, the home region continues. If its own write lease has ended, it asks other
// regions first whether the home has moved.
func (a *Admin) RenewWriteLeases(ctx context.Context, by string) (WriteLeaseStatus, error) {
	st, err := a.homeState(ctx, by)
	if err != nil {
		return WriteLeaseStatus{}, err
	}
	own, there := st.writeLeases[by]
	if !there || own.AdoptedBy != "" {
		return WriteLeaseStatus{}, nil
	}
	var known WriteLeaseStatus
	var errs []error
	for _, item := range st.settings {
		r, err := table.RegionOf(item)
		switch {
		case err != nil || r.WriteLease == 0 || r.State == table.RegionAdopted:
			continue
		case r.Name == by:
			known.Term = r.WriteLease
			if own.Until > 1 {
				known.Expires = time.UnixMilli(own.Until)
			}
			if may, err := a.mayRenewOwn(ctx, by, &st); !may {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, a.renewWriteLease(ctx, by, &r, &st))
	}
	return known, errors.Join(errs...)
}

// mayRenewOwn reports whether a region may renew its own write lease: it is the home region, and
// the home has not moved.
func (a *Admin) mayRenewOwn(ctx context.Context, by string, st *homeState) (bool, error) {
	h, err := homeOf(st.rows[lease.HomeRow().Sort])
	if h.version == 0 {
		h.region = a.home()
	}
	if err != nil || h.region != by || h.moving {
		return false, err
	}
	if !st.confirmed {
		err = a.confirmHome(ctx, h, st.live)
	}
	if errors.Is(err, ErrHome) { // the move will be replicated to it
		return false, nil
	}
	return err == nil, err
}

// recentRenewal is the age below which a renewal by another process of the same region is not
// repeated.
const recentRenewal = 4 * time.Second

func (a *Admin) renewWriteLease(ctx context.Context, by string, r *table.Region, st *homeState) error {
	row, err := writeLeaseOf(r.Name, by, st.rows[lease.WriteLeaseRow(r.Name, by).Sort])
	until := time.Now().Add(r.WriteLease).UnixMilli()
	if err != nil || row.closed || until-row.until < recentRenewal.Milliseconds() {
		return err
	}
	row.until = until
	_, err = row.put(ctx, a, by) // a failed condition means that another process renewed or closed it
	return err
}

// writeLease is the row of a region's write lease by one grantor.
type writeLease struct {
	region, grantor string
	version         int64
	until           int64
	closed          bool

	writer      string // region through which the row was written
	endpoint    string // region through which it is to be written
	versionJump int64  // added to the version if another region than the grantor writes it
}

func writeLeaseOf(region, by string, item table.Item) (writeLease, error) {
	l := writeLease{region: region, grantor: by, endpoint: by}
	if item == nil {
		return l, nil
	}
	var err error
	if l.version, err = table.Number(item, table.Version); err == nil {
		l.until, err = table.Number(item, table.WriteLeaseUntilMs)
	}
	if err != nil {
		return l, fmt.Errorf("%w: write lease of region %s by %s: %w", table.ErrTable, region, by, err)
	}
	l.writer, l.closed = table.Text(item, table.WriterRegion), item[table.ClosedMs] != nil
	return l, nil
}

// readWriteLease reads that row in region at.
func (a *Admin) readWriteLease(ctx context.Context, at, region, by string) (writeLease, error) {
	item, err := a.table.Get(ctx, at, lease.WriteLeaseRow(region, by))
	if err != nil {
		return writeLease{}, err
	}
	return writeLeaseOf(region, by, item)
}

// updateOwn changes a region's own write lease through its endpoint, and repeats after a version
// conflict. change returns true if nothing is to be done.
func (a *Admin) updateOwn(ctx context.Context, region string, change func(own *writeLease) (nothing bool)) error {
	for range 10 {
		own, err := a.readWriteLease(ctx, region, region, region)
		if err != nil || change(&own) {
			return err
		}
		if ok, err := own.put(ctx, a, region); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("write lease of %s: %w", region, ErrVersionConflict)
}

// put writes l through a region, if the row is as it was read.
func (l *writeLease) put(ctx context.Context, a *Admin, at string) (bool, error) {
	expect := table.Expect{}
	if l.version > 0 {
		expect = table.Expect{Version: l.version, Writer: l.writer}
	}
	item := table.PrimaryKey(lease.WriteLeaseRow(l.region, l.grantor))
	item[table.Version], item[table.WriteLeaseUntilMs], item[table.WriterRegion] = table.N(l.version+1+l.versionJump), table.N(l.until),
		table.S(at)
	if l.closed {
		item[table.ClosedMs] = table.N(time.Now().UnixMilli())
	}
	_, ok, err := a.table.Put(ctx, at, item, expect)
	return ok, err
}
