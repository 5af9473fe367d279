package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// WriteLeaseStatus is what a region knows of its own lease.
type WriteLeaseStatus struct {
	Term    time.Duration // 0: it has none
	Expires time.Time
}

// RenewWriteLeases has region by vouch for all others that have a region lease: their agents may write for that long from now on, as soon as they
// hear of it. It asks nobody but by: whoever runs the executor of by calls it many times in the shortest lease. A region that was
// adopted, or is about to be, gets nothing.
//
// The home vouches for itself, too, as long as it keeps doing so: of two regions that do not hear each other it is the one that goes on.
// After a silence as long as its lease it asks others whether it still is, since it may have been given up meanwhile.
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
		case err != nil || r.WriteLease == 0 || r.State == table.Adopted:
			continue
		case r.Name == by:
			known = WriteLeaseStatus{r.WriteLease, time.UnixMilli(own.Until)}
			if may, err := a.mayRenewOwn(ctx, by, &st); !may {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, a.renewWriteLease(ctx, by, &r, &st))
	}
	return known, errors.Join(errs...)
}

// mayRenewOwn says whether a region may vouch for itself: the home, while its word holds, or once another region confirms that it is.
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
	if errors.Is(err, ErrHome) { // it will hear of it
		return false, nil
	}
	return err == nil, err
}

// recentRenewal is within what time another process of the region's has extended a lease that is not extended again.
const recentRenewal = 4 * time.Second

func (a *Admin) renewWriteLease(ctx context.Context, by string, r *table.Region, st *homeState) error {
	row, err := writeLeaseOf(r.Name, by, st.rows[lease.WriteLeaseRow(r.Name, by).Sort])
	until := time.Now().Add(r.WriteLease).UnixMilli()
	if err != nil || row.closed || until-row.until < recentRenewal.Milliseconds() {
		return err
	}
	row.until = until
	_, err = row.put(ctx, a, by) // if somebody was faster, it is extended, or closed
	return err
}

// closed is the attribute of a region's lease that its voucher may extend no more.
const closed = "closed"

// writeLease is a row by which a region may lease, as far as another vouches for it.
type writeLease struct {
	region, grantor string
	version         int64
	until           int64
	closed          bool

	writer      string // whose endpoint it was written through
	endpoint    string // and is to be
	versionJump int64  // of its version, if that is another's
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
		return l, fmt.Errorf("%w: lease of region %s by %s: %w", table.ErrTable, region, by, err)
	}
	l.writer, l.closed = table.Text(item, table.WriterRegion), table.Text(item, closed) != ""
	return l, nil
}

// readWriteLease is that row as a region has it.
func (a *Admin) readWriteLease(ctx context.Context, at, region, by string) (writeLease, error) {
	item, err := a.table.Get(ctx, at, lease.WriteLeaseRow(region, by))
	if err != nil {
		return writeLease{}, err
	}
	return writeLeaseOf(region, by, item)
}

// updateOwn changes what a region vouches for itself, through its endpoint, again if somebody else was faster. change says whether there is nothing to do.
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
	return fmt.Errorf("the region lease of %s: %w", region, ErrChanged)
}

// put writes l through a region, if it is there as it was read.
func (l *writeLease) put(ctx context.Context, a *Admin, at string) (bool, error) {
	expect := table.Expect{}
	if l.version > 0 {
		expect = table.Expect{Version: l.version, Writer: l.writer}
	}
	item := table.PrimaryKey(lease.WriteLeaseRow(l.region, l.grantor))
	item[table.Version], item[table.WriteLeaseUntilMs], item[table.WriterRegion] = table.N(l.version+1+l.versionJump), table.N(l.until), table.S(at)
	if l.closed {
		item[closed] = table.S(time.Now().UTC().Format(time.RFC3339))
	}
	_, ok, err := a.table.Put(ctx, at, item, expect)
	return ok, err
}
