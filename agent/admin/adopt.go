package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
	"github.com/weirhq/weir/internal/pace"
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
	Progress func(Adopted)
}

// Adopted is how far an adoption is.
type Adopted struct {
	// Offered is from when on the resources can be leased: before that, those to whom the region gave them last may use them.
	Offered time.Time `json:"offered"`
	Adopted int64     `json:"adopted"`
	There   int64     `json:"there"` // adopted before
	// Left are retired ones, which can be adopted only after Offered: run it once more then.
	Left int64 `json:"left"`
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
func (a *Admin) Adopt(ctx context.Context, o Adoption) (Adopted, error) {
	r, err := a.adoptable(ctx, &o)
	if err != nil {
		return Adopted{}, err
	}
	until, err := a.over(ctx, &r, &o)
	if err != nil {
		return Adopted{}, err
	}
	if r.State != leasetable.Adopted {
		r.State, r.AdoptedBy, r.SwingTo, r.SwingPercent = leasetable.Adopted, o.By, "", 0
		if err := put(ctx, a, &r, ErrChanged); err != nil {
			return Adopted{}, err
		}
		// A region that was declared a moment ago, and did not know yet, may have vouched for it.
		if until, err = a.over(ctx, &r, &o); err != nil {
			return Adopted{}, err
		}
	}
	clients, err := List(ctx, a, Client{})
	if err != nil {
		return Adopted{}, err
	}
	live, err := a.liveBeside(ctx, a.home(), o.Region, o.By)
	if err != nil {
		return Adopted{}, err
	}
	run := &adopting{a: a, live: live, o: &o, until: until, pace: pace.New(StartRate, leasetable.MaxInsert, o.Rate), rules: lease.Protocol()}
	for _, c := range clients {
		if err := run.client(ctx, c.Client); err != nil {
			return run.done, err
		}
	}
	return run.done, nil
}

// over has nobody vouch for the region any more, and gives the time after which nothing is written through it, once that is over by all
// clocks.
func (a *Admin) over(ctx context.Context, r *Region, o *Adoption) (time.Time, error) {
	until, err := a.closeRegion(ctx, r, o)
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
	case by.State == leasetable.Adopted:
		return r, fmt.Errorf("%w: %s was adopted itself, by %s", ErrInvalid, &by, by.AdoptedBy)
	case r.State == leasetable.Adopted && r.AdoptedBy != o.By:
		return r, fmt.Errorf("%w: %s was adopted by %s: that one goes on", ErrInvalid, &r, r.AdoptedBy)
	case r.RegionLease == 0 && o.DeadSince.IsZero() && r.State != leasetable.Adopted:
		return r, fmt.Errorf("%w: %s has no region lease, so nobody knows until when its agents write: say since when they certainly do not", ErrInvalid, &r)
	case o.DeadSince.After(time.Now()):
		return r, fmt.Errorf("%w: %s is in the future", ErrInvalid, o.DeadSince.Format(time.RFC3339))
	}
	return r, a.mine(&r, r.writer)
}

// adopting is an adoption at work.
type adopting struct {
	a     *Admin
	live  []string // regions beside the two
	o     *Adoption
	until time.Time // nothing was written through the region after it
	pace  *pace.Limiter
	rules *lease.Rules
	done  Adopted
	mine  leasetable.Limit // until when the adopting region may write
	read  time.Time        // when that was read
}

// adopters is how many rows are under way at a time. Each waits before it is written, see adopt.
const adopters = 4096

func (r *adopting) client(ctx context.Context, client string) error {
	pools, err := List(ctx, r.a, Pool{Client: client})
	if err != nil {
		return err
	}
	rest := map[string]*Pool{}
	for i := range pools {
		rest[pools[i].Pool] = &pools[i]
	}
	results := make(chan Adopted, adopters)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(adopters)
	gathered := make(chan struct{})
	go func() {
		defer close(gathered)
		r.gather(results)
	}()
	err = r.a.Resources(gctx, client, Filter{At: r.o.By}, func(found Resource) error {
		if found.Region == r.o.By && found.row.Version > lease.AdoptedLeap {
			results <- Adopted{There: 1}
		}
		if found.Region != r.o.Region {
			return nil
		}
		pool := rest[found.Pool]
		if pool == nil {
			return fmt.Errorf("%w: %s is of pool %q, which is not there", leasetable.ErrTable, &found, found.Pool)
		}
		mine, err := r.limit(gctx)
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

func (r *adopting) gather(results <-chan Adopted) {
	last := time.Now()
	for n := range results {
		r.done.Adopted, r.done.There, r.done.Left = r.done.Adopted+n.Adopted, r.done.There+n.There, r.done.Left+n.Left
		if n.Offered.After(r.done.Offered) {
			r.done.Offered = n.Offered
		}
		if r.o.Progress != nil && time.Since(last) > time.Second {
			last = time.Now()
			r.o.Progress(r.done)
		}
	}
}

// limit is until when the adopting region may write, as it knows: it may be lost, and adopted, itself meanwhile.
func (r *adopting) limit(ctx context.Context) (leasetable.Limit, error) {
	if time.Since(r.read) < limitAge {
		return r.mine, nil
	}
	now := time.Now()
	limits, err := r.a.table.Limits(ctx, r.o.By)
	if err == nil {
		r.mine, r.read = limits[r.o.By], now
	}
	return r.mine, err
}

// limitAge is how long what was read of a region's limit is used.
const limitAge = 10 * time.Second

// adopt makes the write, on the row as the adopting region has it. Nobody else writes that row there. But a third region that had
// not heard of the adoption may have sent it to the lost one a moment ago; regions order writes by their own clocks, so ours comes
// twice the skew after the row was seen: else that one could win elsewhere.
func (r *adopting) adopt(ctx context.Context, found *Resource, pool *Pool, mine *leasetable.Limit) (Adopted, error) {
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
	with := leasetable.Item{leasetable.Shard: pool.shelf(r.o.By)}
	if found.State == Retired {
		if !time.Now().After(offered.Add(r.a.table.Skew)) { // it may have been revived and leased, and nobody has seen it
			return Adopted{Left: 1, Offered: offered}, nil
		}
		w.Args.Available = 0
		with = leasetable.Item{}
	}
	for {
		if err := pause(ctx, 2*r.a.table.Skew+time.Millisecond); err != nil {
			return Adopted{}, err
		}
		if err := r.pace.Wait(ctx, 1); err != nil {
			return Adopted{}, err
		}
		if gone, err := r.elsewhere(ctx, found, w.Args.Version); gone || err != nil {
			return Adopted{}, err
		}
		if err := mine.Check(time.Now(), r.a.table.Skew, r.a.table.Timeout); err != nil {
			return Adopted{}, fmt.Errorf("%s cannot take it over: %w", r.o.By, err)
		}
		row, ok, err := r.a.table.Write(ctx, r.o.By, lease.ResourceRow(found.Client, found.Resource), &w, with)
		switch {
		case errors.Is(err, leasetable.ErrThrottled):
			r.pace.Throttled(1)
		case err != nil:
			return Adopted{}, err
		case ok:
			return Adopted{Adopted: 1, Offered: offered}, nil
		case row.Owner == r.o.By && row.Version > lease.AdoptedLeap: // an answer was lost, or another command was faster
			return Adopted{There: 1}, nil
		case row.Owner != r.o.Region: // it was on its way to another
			return Adopted{}, nil
		default: // the region's last write arrived only now
			w.Args.Version = row.Version
		}
	}
}

// liveBeside lists the regions beside some that were not adopted, as region at has them.
func (a *Admin) liveBeside(ctx context.Context, at string, some ...string) (live []string, err error) {
	regions, err := list(ctx, a, at, Region{})
	for i := range regions {
		if r := &regions[i]; !slices.Contains(some, r.Region) && r.State != leasetable.Adopted {
			live = append(live, r.Region)
		}
	}
	return live, err
}

// elsewhere says whether the lost region gave a resource to a third one before it was lost, and the adopting one has not heard of
// it. All live regions have to answer: a resource with two owners would be the worst.
func (r *adopting) elsewhere(ctx context.Context, found *Resource, version int64) (bool, error) {
	for _, region := range r.live {
		item, err := r.a.table.Get(ctx, region, lease.ResourceRow(found.Client, found.Resource))
		if err != nil {
			return false, err
		}
		row, err := leasetable.Row(item)
		if err != nil {
			return false, fmt.Errorf("%w: %s in %s: %w", leasetable.ErrTable, found, region, err)
		}
		if row.Version > version && row.Owner != r.o.Region {
			return true, nil
		}
	}
	return false, nil
}
