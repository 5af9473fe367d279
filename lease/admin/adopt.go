package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/ratelimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Adoption describes the adoption of a lost region's resources.
type Adoption struct {
	Region string // lost region
	By     string // region that gets the resources, and through whose endpoint they are written
	// DeadSince asserts that no agent or executor has written through Region since this time. It is
	// needed where the table does not show it (ErrNoFence): the region has no write lease, or has
	// sent no heartbeat since it has one, or is the home region, or a grantor does not answer.
	DeadSince time.Time
	// Rate is the maximum number of rows per second. Defaults to a rate that adapts to throttling.
	Rate int
	// Progress is called about once a second. Nil is allowed.
	Progress func(AdoptionProgress)
}

// AdoptionProgress is the progress of an adoption.
type AdoptionProgress struct {
	// Offered is the time from which all adopted resources can be leased, Pools that of each pool.
	// Earlier, users of the lost region's last leases may use them.
	Offered        time.Time `json:"offered"`
	Adopted        int64     `json:"adopted"`
	AlreadyAdopted int64     `json:"there"` // adopted by an earlier run
	// Remaining is the number of retired resources that can be adopted only after Offered. Repeat
	// the adoption then.
	Remaining int64         `json:"left"`
	Pools     []AdoptedPool `json:"pools" table:"-"`
}

// AdoptedPool is the progress of an adoption in one pool, see AdoptionProgress.
type AdoptedPool struct {
	Client  string    `json:"client"`
	Pool    string    `json:"pool"`
	Adopted int64     `json:"adopted"`
	Offered time.Time `json:"offered"`
}

// ErrEarly means that agents of the region may still grant leases. errors.As finds an *EarlyError.
var ErrEarly = errors.New("too early")

// ErrNoFence means that the table does not show since when nothing is written through a region.
// Adoption.DeadSince or HomeMove.DeadSince has to assert it.
var ErrNoFence = errors.New("the table does not show since when nothing is written through the region")

// EarlyError names the time from which an adoption or a move is possible.
type EarlyError struct {
	Region string
	Until  time.Time
}

func (e *EarlyError) Error() string {
	return fmt.Sprintf("region %q: %v: its processes may write until %s, when its write leases have ended and their settings, cached for up to %v, have expired",
		e.Region, ErrEarly, e.Until.UTC().Format(time.RFC3339), maxSettingsUse)
}

// Is reports that the error is an ErrEarly.
func (e *EarlyError) Is(target error) bool { return target == ErrEarly }

// Adopt gives the resources of a lost region to another region, by rule Adopt of package lease. It
// first ends the renewal of the lost region's write lease, and returns an EarlyError until the
// write lease has ended. The adopting region's copy of each row is the latest that is known. The
// leases that the lost region granted last may be in no copy, so a resource is offered only after
// the longest lease that its pool ever allowed and a quarantine.
//
// Adopt can be repeated until nothing remains; it never changes an adopted row again. All other
// live regions have to answer, since a resource that the lost region transferred to one of them
// stays there.
func (a *Admin) Adopt(ctx context.Context, o Adoption) (AdoptionProgress, error) {
	r, err := a.adoptable(ctx, &o)
	if err != nil {
		return AdoptionProgress{}, err
	}
	until, err := a.endWriteLease(ctx, &r, &o)
	if err != nil {
		return AdoptionProgress{}, err
	}
	if r.State != table.RegionAdopted {
		r.State, r.AdoptedBy, r.SwingTo, r.SwingPercent = table.RegionAdopted, o.By, "", 0
		if err := put(ctx, a, &r, ErrVersionConflict); err != nil {
			return AdoptionProgress{}, err
		}
		// A region that was created a moment ago may have renewed the write lease before it saw the
		// adoption.
		if until, err = a.endWriteLease(ctx, &r, &o); err != nil {
			return AdoptionProgress{}, err
		}
	}
	clients, err := List(ctx, a, Client{})
	if err != nil {
		return AdoptionProgress{}, err
	}
	live, err := a.liveRegions(ctx, a.home(), o.Region, o.By)
	if err != nil {
		return AdoptionProgress{}, err
	}
	run := &adoptionRun{
		a: a, live: live, o: &o, until: until, limiter: ratelimit.New(StartRate, table.MaxInsert, o.Rate), rules: lease.Protocol(),
	}
	for _, c := range clients {
		if err := run.client(ctx, c.Client); err != nil {
			return run.done, err
		}
	}
	return run.done, nil
}

// endWriteLease ends the renewal of the region's write lease at all grantors. It returns the time
// after which nothing is written through the region, and an EarlyError until that has passed by all
// clocks.
func (a *Admin) endWriteLease(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	until, err := a.closeWriteLeases(ctx, r, o)
	// The region's last write may have a time later by the skew, the adoption's an earlier one, and
	// the clock of this process may be ahead: three times the skew.
	if at := until.Add(3 * a.table.Skew); err == nil && !time.Now().After(at) {
		err = &EarlyError{o.Region, at}
	}
	return until, err
}

// adoptable reads the settings of the region, and returns an error if o is not possible.
func (a *Admin) adoptable(ctx context.Context, o *Adoption) (Region, error) {
	r := Region{Region: o.Region}
	if o.Region == a.home() && o.By != o.Region {
		return r, fmt.Errorf(
			"%s: %w: this region is the home: make another region the home, configure it, then adopt this one with the time since which nothing was written through it",
			&r, ErrHome)
	}
	r, err := Get(ctx, a, r)
	if err != nil {
		return r, err
	}
	by, err := Get(ctx, a, Region{Region: o.By})
	switch {
	case err != nil:
		return r, err
	case o.By == o.Region:
		return r, fmt.Errorf("%w: %s cannot adopt its own resources", ErrInvalid, &r)
	case by.State == table.RegionAdopted:
		return r, fmt.Errorf("%w: %s was adopted by %s and cannot adopt resources", ErrInvalid, &by, by.AdoptedBy)
	case r.State == table.RegionAdopted && r.AdoptedBy != o.By:
		return r, fmt.Errorf("%w: %s was adopted by %s: only %[3]s can complete the adoption", ErrInvalid, &r, r.AdoptedBy)
	case r.WriteLease == 0 && o.DeadSince.IsZero() && r.State != table.RegionAdopted:
		return r, fmt.Errorf("%w: %s has no write lease: %w", ErrInvalid, &r, ErrNoFence)
	case o.DeadSince.After(time.Now()):
		return r, fmt.Errorf("%w: nothing was written since %s, which is in the future: give a time in the past", ErrInvalid,
			o.DeadSince.Format(time.RFC3339))
	}
	return r, a.checkWriter(&r, r.writer)
}

// adoptionRun is an adoption in progress.
type adoptionRun struct {
	a             *Admin
	live          []string // live regions beside the lost and the adopting one
	o             *Adoption
	until         time.Time // end of writes through the lost region
	limiter       *ratelimit.Limiter
	rules         *lease.Rules
	done          AdoptionProgress
	ownWriteLease table.WriteLease // of the adopting region
	read          time.Time        // when it was read
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// maxAdopting is the maximum number of concurrent rows. Each waits before its write, see adopt.
const maxAdopting = 4096

func (r *adoptionRun) client(ctx context.Context, client string) error {
	pools, err := List(ctx, r.a, Pool{Client: client})
	if err != nil {
		return err
	}
	rest := map[string]*Pool{}
	for i := range pools {
		rest[pools[i].Pool] = &pools[i]
	}
	results := make(chan adoptedRow, maxAdopting)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxAdopting)
	gathered := make(chan struct{})
	go func() {
		defer close(gathered)
		r.gather(client, results)
	}()
	err = r.a.Resources(gctx, client, ResourceFilter{ReadRegion: r.o.By}, func(found Resource) error {
		if found.Region == r.o.By && found.row.Version > lease.AdoptedVersionJump {
			results <- adoptedRow{found.Pool, AdoptionProgress{AlreadyAdopted: 1}}
		}
		if found.Region != r.o.Region {
			return nil
		}
		pool := rest[found.Pool]
		if pool == nil {
			return fmt.Errorf("%w: %s is in pool %q, which does not exist", table.ErrTable, &found, found.Pool)
		}
		mine, err := r.readOwnWriteLease(gctx)
		if err != nil {
			return err
		}
		g.Go(func() error {
			got, err := r.adopt(gctx, &found, pool, &mine)
			results <- adoptedRow{found.Pool, got}
			return err
		})
		return nil
	})
	err = errors.Join(g.Wait(), err)
	close(results)
	<-gathered
	return err
}

// adoptedRow is the result of one row of a pool.
type adoptedRow struct {
	pool string
	AdoptionProgress
}

func (r *adoptionRun) gather(client string, results <-chan adoptedRow) {
	last, pools := time.Now(), map[string]*AdoptedPool{}
	for n := range results {
		if n.Adopted > 0 {
			p := pools[n.pool]
			if p == nil {
				p = &AdoptedPool{Client: client, Pool: n.pool}
				pools[n.pool] = p
			}
			if p.Adopted += n.Adopted; n.Offered.After(p.Offered) {
				p.Offered = n.Offered
			}
		}
		r.done.Adopted, r.done.AlreadyAdopted, r.done.Remaining = r.done.Adopted+n.Adopted, r.done.AlreadyAdopted+n.AlreadyAdopted,
			r.done.Remaining+n.Remaining
		if n.Offered.After(r.done.Offered) {
			r.done.Offered = n.Offered
		}
		if r.o.Progress != nil && time.Since(last) > time.Second {
			last = time.Now()
			r.o.Progress(r.done)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		r.done.Pools = append(r.done.Pools, *pools[name])
	}
}

// readOwnWriteLease returns the write lease of the adopting region. It may be lost or adopted
// itself by now.
func (r *adoptionRun) readOwnWriteLease(ctx context.Context) (table.WriteLease, error) {
	if time.Since(r.read) < maxWriteLeaseAge {
		return r.ownWriteLease, nil
	}
	now := time.Now()
	limits, err := r.a.table.WriteLeases(ctx, r.o.By)
	if err == nil {
		r.ownWriteLease, r.read = limits[r.o.By], now
	}
	return r.ownWriteLease, err
}

// maxWriteLeaseAge is the time for which a write lease is used before it is read again.
const maxWriteLeaseAge = 10 * time.Second

// adopt writes one row, as the adopting region has it. No other process writes that row there. But
// a third region that had not seen the adoption may have transferred it to the lost region a moment
// ago. Regions order writes by their own clocks, so this write comes twice the skew after the row
// was read; otherwise the transfer could win in another region.
func (r *adoptionRun) adopt(ctx context.Context, found *Resource, pool *Pool, mine *table.WriteLease) (AdoptionProgress, error) {
	offered := pool.offeredAfter(r.until)
	if found.State == Leased { // it may end later, by a wrong clock
		offered = latest(offered, found.Until.Add(time.Duration(pool.Quarantine)))
	}
	w := lease.Write{
		Rule: &r.rules.Adopt, Args: lease.Row{Version: found.row.Version, Owner: r.o.By, Available: offered.UnixMilli()},
		Now: time.Now().UnixMilli(), Skew: r.a.table.Skew.Milliseconds(),
	}
	with := table.Item{table.Bucket: pool.drawBucket(r.o.By)}
	if found.State == Retired {
		if !time.Now().After(offered.Add(r.a.table.Skew)) { // the lost region may have revived and leased it, unseen
			return AdoptionProgress{Remaining: 1, Offered: offered}, nil
		}
		w.Args.Available = 0
		with = table.Item{}
	}
	for {
		if !pause.For(ctx, 2*r.a.table.Skew+time.Millisecond) {
			return AdoptionProgress{}, ctx.Err()
		}
		if err := r.limiter.Wait(ctx, 1); err != nil {
			return AdoptionProgress{}, err
		}
		if gone, err := r.ownedByThirdRegion(ctx, found, w.Args.Version); gone || err != nil {
			return AdoptionProgress{}, err
		}
		if err := mine.Check(time.Now(), r.a.table.Skew, r.a.table.Timeout); err != nil {
			return AdoptionProgress{}, fmt.Errorf("%s cannot adopt: %w", r.o.By, err)
		}
		row, ok, err := r.a.table.Write(ctx, r.o.By, lease.ResourceRow(found.Client, found.Resource), &w, with)
		switch {
		case errors.Is(err, table.ErrThrottled):
			r.limiter.Throttled(1)
		case err != nil:
			return AdoptionProgress{}, err
		case ok:
			return AdoptionProgress{Adopted: 1, Offered: offered}, nil
		case row.Owner == r.o.By && row.Version > lease.AdoptedVersionJump: // the answer was lost, or another run was faster
			return AdoptionProgress{AlreadyAdopted: 1}, nil
		case row.Owner != r.o.Region: // it was transferred before the loss
			return AdoptionProgress{}, nil
		default: // the lost region's last write was replicated only now
			w.Args.Version = row.Version
		}
	}
}

// liveRegions returns the regions that were not adopted, without some, from the replica of region
// at.
func (a *Admin) liveRegions(ctx context.Context, at string, some ...string) (live []string, err error) {
	regions, err := list(ctx, a, at, Region{})
	for i := range regions {
		if r := &regions[i]; !slices.Contains(some, r.Region) && r.State != table.RegionAdopted {
			live = append(live, r.Region)
		}
	}
	return live, err
}

// ownedByThirdRegion reports whether the lost region transferred a resource to a third region, and
// the adopting region has not seen it. All live regions have to answer, to exclude two owners.
func (r *adoptionRun) ownedByThirdRegion(ctx context.Context, found *Resource, version int64) (bool, error) {
	for _, region := range r.live {
		item, err := r.a.table.Get(ctx, region, lease.ResourceRow(found.Client, found.Resource))
		if err != nil {
			return false, err
		}
		row, err := table.Row(item)
		if err != nil {
			return false, fmt.Errorf("%w: %s in %s: %w", table.ErrTable, found, region, err)
		}
		if row.Version > version && row.Owner != r.o.Region {
			return true, nil
		}
	}
	return false, nil
}
