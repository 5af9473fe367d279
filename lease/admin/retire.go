package admin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Retirement selects the resources that RetireAll takes out of use.
type Retirement struct {
	Client string
	// Pool is the pool whose resources are retired. Resources of other pools are not changed.
	// Defaults to any pool, which needs Names.
	Pool string
	// Names calls yield for each name, until yield returns an error. Defaults to all resources of
	// Pool.
	Names func(yield func(name string) error) error
	// Dry writes nothing; the counts are those of a run that writes.
	Dry bool
	// Failed is called for each resource that cannot be retired, by one goroutine at a time. Nil is
	// allowed.
	Failed func(name string, why error)
}

// RetirementCounts are the results of RetireAll.
type RetirementCounts struct {
	Retired int64 `json:"retired"`
	Before  int64 `json:"there"`  // retired before
	InUse   int64 `json:"in_use"` // leased or in quarantine
	Failed  int64 `json:"failed"` // not found, in another pool, changed at the same time, or their region may not write
}

const (
	maxRetiring = 64 // concurrent rows
	retireTries = 8  // attempts of a row that DynamoDB throttles
)

// RetireAll takes available resources out of use, see Retire. Resources in use stay as they are.
// After an error it can be repeated.
func (a *Admin) RetireAll(ctx context.Context, o Retirement) (RetirementCounts, error) {
	var mu sync.Mutex
	var sum RetirementCounts
	if o.Names == nil && o.Pool == "" {
		return sum, fmt.Errorf("%w: set Names or Pool", ErrInvalid)
	}
	if o.Pool != "" {
		if _, err := Get(ctx, a, Pool{Client: o.Client, Pool: o.Pool}); err != nil {
			return sum, err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxRetiring)
	each := func(name string) error {
		if gctx.Err() != nil {
			return gctx.Err()
		}
		g.Go(func() error {
			before, err := a.retireOne(gctx, &o, name)
			mu.Lock()
			defer mu.Unlock()
			return sum.count(&o, name, before, err)
		})
		return nil
	}
	var err error
	if o.Names != nil {
		err = o.Names(each)
	} else {
		err = a.Resources(gctx, o.Client, ResourceFilter{Pool: o.Pool}, func(r Resource) error { return each(r.Resource) })
	}
	if failed := g.Wait(); failed != nil {
		err = failed // err may be the end of gctx
	}
	return sum, err
}

// count counts the result of one resource. It returns err if it concerns the other resources too.
func (c *RetirementCounts) count(o *Retirement, name string, before State, err error) error {
	switch {
	case err == nil && before == Retired:
		c.Before++
	case err == nil:
		c.Retired++
	case errors.Is(err, ErrInUse):
		c.InUse++
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrVersionConflict), errors.Is(err, ErrInvalid), errors.Is(err, table.ErrNoWriteLease):
		c.Failed++
	default:
		return err
	}
	if err != nil && o.Failed != nil {
		o.Failed(name, err)
	}
	return nil
}

// retireOne retires a resource, in several attempts if DynamoDB throttles. It returns the state
// that the resource had.
func (a *Admin) retireOne(ctx context.Context, o *Retirement, name string) (before State, err error) {
	for tries := range retireTries {
		_, err = a.change(ctx, o.Client, name, o.Dry, func(r *Resource, rules *lease.Rules) (*lease.Write, table.Item, error) {
			if before = r.State; o.Pool != "" && r.Pool != o.Pool {
				return nil, nil, fmt.Errorf("%s: %w: it is in pool %q", r, ErrInvalid, r.Pool)
			}
			return retirement(r, rules)
		})
		if !errors.Is(err, table.ErrThrottled) {
			return before, err
		}
		if !pause.For(ctx, rand.N(50*time.Millisecond<<tries)) {
			return before, ctx.Err()
		}
	}
	return before, err
}
