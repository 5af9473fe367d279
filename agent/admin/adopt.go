package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/pace"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Adoption says whose resources go to whom.
type Adoption struct {
	Region string // that is cut off or gone
	By     string // whose endpoint they are written through from now on
	// DeadSince is a time since when, for certain, no agent or executor has written through Region. It is needed if nothing tells:
	// the region has no region lease, or was not heard of since it has one, or is the home and vouches for itself, or one that may vouch
	// for it does not answer.
	DeadSince time.Time
	// Rate is the most rows a second. Defaults to what the table takes.
	Rate int
	// Progress is told now and then. Defaults to nothing.
	Progress func(AdoptionProgress)
}

// AdoptionProgress is how far an adoption is.
type AdoptionProgress struct {
	// Offered is from when on the resources can be leased: before that, those to whom the region gave them last may use them.
	Offered        time.Time `json:"offered"`
	Adopted        int64     `json:"adopted"`
	AlreadyAdopted int64     `json:"there"` // adopted before
	// Remaining are retired ones, which can be adopted only after Offered: run it once more then.
	Remaining int64 `json:"left"`
}

// ErrEarly says that agents of the region may still lease. errors.As gives an *EarlyError.
var ErrEarly = errors.New("it is too early")

// EarlyError says when it is time.
type EarlyError struct {
	Region string
	Until  time.Time
}

func (e *EarlyError) Error() string {
	return fmt.Sprintf("region %q: %v: it may go on until %s, by what was said of it before", e.Region, ErrEarly, e.Until.UTC().Format(time.RFC3339))
}

// Is makes it an ErrEarly.
func (e *EarlyError) Is(target error) bool { return target == ErrEarly }

// Adopt takes over the resources of a region that is cut off or gone, as package lease's rule Adopt has it: when the region may
// write no more, by another one, whose copy of each row is the last that anybody knows. What the region leased just before is in
// no copy, so that a resource is offered only after the longest lease that its pool ever allowed and a quarantine on top. It can be run again until
// nothing is left; it never changes what was adopted already. All other regions have to answer: what the lost one gave to one of
// them stays there.
func (a *Admin) Adopt(ctx context.Context, o Adoption) (AdoptionProgress, error) {
	r, err := a.adoptable(ctx, &o)
	if err != nil {
		return AdoptionProgress{}, err
	}
	until, err := a.endWriteLease(ctx, &r, &o)
	if err != nil {
		return AdoptionProgress{}, err
	}
	if r.State != table.Adopted {
		r.State, r.AdoptedBy, r.SwingTo, r.SwingPercent = table.Adopted, o.By, "", 0
		if err := put(ctx, a, &r, ErrChanged); err != nil {
			return AdoptionProgress{}, err
		}
		// A region that was declared a moment ago, and did not know yet, may have vouched for it.
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
	run := &adoptionRun{a: a, live: live, o: &o, until: until, pace: pace.New(StartRate, table.MaxInsert, o.Rate), rules: lease.Protocol()}
	for _, c := range clients {
		if err := run.client(ctx, c.Client); err != nil {
			return run.done, err
		}
	}
	return run.done, nil
}

// endWriteLease has nobody vouch for the region any more, and gives the time after which nothing is written through it, once that is over by all
// clocks.
func (a *Admin) endWriteLease(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	until, err := a.closeWriteLeases(ctx, r, o)
	// The region's last write may bear a time that is as much later, and ours one that is as much earlier; so may our clock.
	if at := until.Add(3 * a.table.Skew); err == nil && !time.Now().After(at) {
		err = &EarlyError{o.Region, at}
	}
	return until, err
}

// adoptable reads the region and says why o cannot be.
func (a *Admin) adoptable(ctx context.Context, o *Adoption) (Region, error) {
	r := Region{Region: o.Region}
	if o.Region == a.home() && o.By != o.Region {
		return r, fmt.Errorf("%s: %w: it is the home, which keeps the settings and vouches for itself. If it is lost, first weir region home %s --dead-since TIME, then set leases.home to %[3]s everywhere, then weir region adopt %[4]s --by %[3]s --dead-since TIME",
			&r, ErrHome, o.By, r.Region)
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
	case by.State == table.Adopted:
		return r, fmt.Errorf("%w: %s was adopted itself, by %s", ErrInvalid, &by, by.AdoptedBy)
	case r.State == table.Adopted && r.AdoptedBy != o.By:
		return r, fmt.Errorf("%w: %s was adopted by %s: that one goes on", ErrInvalid, &r, r.AdoptedBy)
	case r.WriteLease == 0 && o.DeadSince.IsZero() && r.State != table.Adopted:
		return r, fmt.Errorf("%w: %s has no region lease, so nobody knows until when its agents write: say since when they certainly do not", ErrInvalid, &r)
	case o.DeadSince.After(time.Now()):
		return r, fmt.Errorf("%w: %s is in the future", ErrInvalid, o.DeadSince.Format(time.RFC3339))
	}
	return r, a.checkWriter(&r, r.writer)
}

// adoptionRun is an adoption at work.
type adoptionRun struct {
	a             *Admin
	live          []string // regions beside the two
	o             *Adoption
	until         time.Time // nothing was written through the region after it
	pace          *pace.Limiter
	rules         *lease.Rules
	done          AdoptionProgress
	ownWriteLease table.WriteLease // until when the adopting region may write
	read          time.Time        // when that was read
}

// maxAdopting is how many rows are under way at a time. Each waits before it is written, see adopt.
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
	results := make(chan AdoptionProgress, maxAdopting)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxAdopting)
	gathered := make(chan struct{})
	go func() {
		defer close(gathered)
		r.gather(results)
	}()
	err = r.a.Resources(gctx, client, Filter{At: r.o.By}, func(found Resource) error {
		if found.Region == r.o.By && found.row.Version > lease.AdoptedVersionJump {
			results <- AdoptionProgress{AlreadyAdopted: 1}
		}
		if found.Region != r.o.Region {
			return nil
		}
		pool := rest[found.Pool]
		if pool == nil {
			return fmt.Errorf("%w: %s is of pool %q, which is not there", table.ErrTable, &found, found.Pool)
		}
		mine, err := r.readOwnWriteLease(gctx)
		if err != nil {
			return err
		}
		g.Go(func() error {
			got, err := r.adopt(gctx, &found, pool, &mine)
			results <- got
			return err
		})
		return nil
	})
	err = errors.Join(g.Wait(), err)
	close(results)
	<-gathered
	return err
}

func (r *adoptionRun) gather(results <-chan AdoptionProgress) {
	last := time.Now()
	for n := range results {
		r.done.Adopted, r.done.AlreadyAdopted, r.done.Remaining = r.done.Adopted+n.Adopted, r.done.AlreadyAdopted+n.AlreadyAdopted, r.done.Remaining+n.Remaining
		if n.Offered.After(r.done.Offered) {
			r.done.Offered = n.Offered
		}
		if r.o.Progress != nil && time.Since(last) > time.Second {
			last = time.Now()
			r.o.Progress(r.done)
		}
	}
}

// readOwnWriteLease is until when the adopting region may write, as it knows: it may be lost, and adopted, itself meanwhile.
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

// maxWriteLeaseAge is how long what was read of a region's limit is used.
const maxWriteLeaseAge = 10 * time.Second

// adopt makes the write, on the row as the adopting region has it. Nobody else writes that row there. But a third region that had
// not heard of the adoption may have sent it to the lost one a moment ago; regions order writes by their own clocks, so ours comes
// twice the skew after the row was seen: else that one could win elsewhere.
func (r *adoptionRun) adopt(ctx context.Context, found *Resource, pool *Pool, mine *table.WriteLease) (AdoptionProgress, error) {
	// That the pool's leases were made shorter, the region may not have heard.
	last := r.until.Add(time.Duration(pool.LongestEver))
	if found.State == Leased && found.Until.After(last) { // by a clock that is off
		last = found.Until
	}
	offered := last.Add(time.Duration(pool.Quarantine))
	w := lease.Write{
		Rule: &r.rules.Adopt, Args: lease.Row{Version: found.row.Version, Owner: r.o.By, Available: offered.UnixMilli()},
		Now: time.Now().UnixMilli(), Skew: r.a.table.Skew.Milliseconds(),
	}
	with := table.Item{table.Bucket: pool.drawBucket(r.o.By)}
	if found.State == Retired {
		if !time.Now().After(offered.Add(r.a.table.Skew)) { // it may have been revived and leased, and nobody has seen it
			return AdoptionProgress{Remaining: 1, Offered: offered}, nil
		}
		w.Args.Available = 0
		with = table.Item{}
	}
	for {
		if !pause.For(ctx, 2*r.a.table.Skew+time.Millisecond) {
			return AdoptionProgress{}, ctx.Err()
		}
		if err := r.pace.Wait(ctx, 1); err != nil {
			return AdoptionProgress{}, err
		}
		if gone, err := r.ownedByThirdRegion(ctx, found, w.Args.Version); gone || err != nil {
			return AdoptionProgress{}, err
		}
		if err := mine.Check(time.Now(), r.a.table.Skew, r.a.table.Timeout); err != nil {
			return AdoptionProgress{}, fmt.Errorf("%s cannot take it over: %w", r.o.By, err)
		}
		row, ok, err := r.a.table.Write(ctx, r.o.By, lease.ResourceRow(found.Client, found.Resource), &w, with)
		switch {
		case errors.Is(err, table.ErrThrottled):
			r.pace.Throttled(1)
		case err != nil:
			return AdoptionProgress{}, err
		case ok:
			return AdoptionProgress{Adopted: 1, Offered: offered}, nil
		case row.Owner == r.o.By && row.Version > lease.AdoptedVersionJump: // an answer was lost, or another command was faster
			return AdoptionProgress{AlreadyAdopted: 1}, nil
		case row.Owner != r.o.Region: // it was on its way to another
			return AdoptionProgress{}, nil
		default: // the region's last write arrived only now
			w.Args.Version = row.Version
		}
	}
}

// liveRegions lists the regions beside some that were not adopted, as region at has them.
func (a *Admin) liveRegions(ctx context.Context, at string, some ...string) (live []string, err error) {
	regions, err := list(ctx, a, at, Region{})
	for i := range regions {
		if r := &regions[i]; !slices.Contains(some, r.Region) && r.State != table.Adopted {
			live = append(live, r.Region)
		}
	}
	return live, err
}

// ownedByThirdRegion says whether the lost region gave a resource to a third one before it was lost, and the adopting one has not heard of
// it. All live regions have to answer: a resource with two owners would be the worst.
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
