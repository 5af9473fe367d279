package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// State is the state of a resource.
type State string

// The states.
const (
	Available  State = "available"
	Leased     State = "leased"
	Quarantine State = "quarantine" // released; available from Until on
	Retired    State = "retired"    // out of use
)

// Resource is a resource, as its row describes it.
type Resource struct {
	Resource string `json:"resource"`
	Client   string `json:"client"`
	Pool     string `json:"pool"`
	Region   string `json:"region"`
	State    State  `json:"state"`
	// Key is the key that has the lease.
	Key string `json:"key,omitempty"`
	// Until is the end of the lease or of the quarantine.
	Until time.Time `json:"until,omitzero"`
	// Token is the version of the row. While the resource is leased it is the token of the lease.
	Token int64 `json:"token"`

	row        lease.Row
	holderPool string // pool of Key
}

// String returns the resource for messages.
func (r *Resource) String() string {
	return fmt.Sprintf("resource %q of client %q", r.Resource, r.Client)
}

// resourceOf reads a resource row.
func resourceOf(client string, item table.Item) (r Resource, err error) {
	r = Resource{Client: client, Resource: table.Text(item, table.SK), Pool: table.Text(item, table.PoolID)}
	if r.row, err = table.Row(item); err != nil {
		return r, fmt.Errorf("%w: %s: %w", table.ErrTable, &r, err)
	}
	r.Region, r.Token = r.row.Owner, r.row.Version
	now := time.Now()
	switch {
	case r.row.Holder != "":
		r.State, r.Until = Leased, time.UnixMilli(r.row.Expires).UTC()
		r.holderPool, r.Key, _ = lease.ParseHolder(r.row.Holder)
	case r.row.Available == 0:
		r.State = Retired
	case r.row.Available > now.UnixMilli():
		r.State, r.Until = Quarantine, time.UnixMilli(r.row.Available).UTC()
	default:
		r.State = Available
	}
	return r, nil
}

// Resource reads a resource in the region that owns it.
func (a *Admin) Resource(ctx context.Context, client, name string) (Resource, error) {
	return a.resource(ctx, a.home(), client, name)
}

// resource reads a resource in the region that owns it. It begins at region at.
func (a *Admin) resource(ctx context.Context, at, client, name string) (Resource, error) {
	r := Resource{Client: client, Resource: name}
	if err := checkResource(client, name); err != nil {
		return r, err
	}
	for range len(a.regions) + 1 {
		item, err := a.table.Get(ctx, at, lease.ResourceRow(client, name))
		if err != nil {
			return r, err
		}
		if item == nil && r.Region != "" {
			return r, fmt.Errorf("%s: %w: it was transferred to %s and has not arrived there", &r, ErrVersionConflict, at)
		}
		if item == nil {
			return r, fmt.Errorf("%s: %w", &r, ErrNotFound)
		}
		if r, err = resourceOf(client, item); err != nil || r.Region == at {
			return r, err
		}
		at = r.Region
	}
	return r, fmt.Errorf("%s: %w: its owner changed during each read", &r, ErrVersionConflict)
}

func checkResource(client, name string) error {
	if err := lease.CheckName("client", client, lease.MaxName); err != nil {
		return invalid(err)
	}
	return invalid(lease.CheckName("resource", name, lease.MaxKey))
}

// CreateResource adds a resource whose name has no row yet. If it has one, the error is ErrExists.
func (a *Admin) CreateResource(ctx context.Context, client, pool, region, name string) (Resource, error) {
	r := Resource{Client: client, Resource: name}
	if err := errors.Join(checkResource(client, name), invalid(lease.CheckVisible("resource", name))); err != nil {
		return r, err
	}
	to, err := a.target(ctx, client, pool, region)
	if err != nil {
		return r, err
	}
	item := a.newResourceItem(name, &to, region)
	var found table.Item
	var ok bool
	err = a.viaHome(ctx, func(ctx context.Context) error {
		there, err := a.findInOtherRegions(ctx, []table.Item{item})
		if found = there[primary(item)]; found != nil || err != nil {
			return err
		}
		found, ok, err = a.table.Put(ctx, a.home(), item, table.Expect{})
		return err
	})
	if err != nil {
		return r, err
	}
	if r, err = resourceOf(client, found); err == nil && !ok {
		err = fmt.Errorf("%s: %w: %s in pool %q of %s", &r, ErrExists, r.State, r.Pool, r.Region)
		if r.State == Retired {
			err = fmt.Errorf("%w; revive it to use it again", err)
		}
	}
	return r, err
}

// Retire takes an available resource out of use. With dry it writes nothing, and returns the error
// that Retire would return.
func (a *Admin) Retire(ctx context.Context, client, name string, dry bool) (Resource, error) {
	return a.change(ctx, client, name, dry, retirement)
}

// retirement returns the write that retires a resource, nil if it is retired.
func retirement(r *Resource, rules *lease.Rules) (*lease.Write, table.Item, error) {
	switch r.State {
	case Retired:
		return nil, nil, nil
	case Available:
		return &lease.Write{Rule: &rules.Retire}, nil, nil
	case Leased:
		return nil, nil, fmt.Errorf("%s: %w: key %q of pool %q has it until %s; release that lease first", r, ErrInUse, r.Key, r.holderPool,
			r.Until.Format(time.RFC3339))
	default:
		return nil, nil, fmt.Errorf("%s: %w: a lease of it may be in use until %s", r, ErrInUse, r.Until.Format(time.RFC3339))
	}
}

// Revive puts a retired resource into use again, in its pool and region. See Retire for dry.
func (a *Admin) Revive(ctx context.Context, client, name string, dry bool) (Resource, error) {
	return a.change(ctx, client, name, dry, func(r *Resource, rules *lease.Rules) (*lease.Write, table.Item, error) {
		if r.State != Retired {
			return nil, nil, nil
		}
		pool, err := Get(ctx, a, Pool{Client: r.Client, Pool: r.Pool})
		if err != nil {
			return nil, nil, err
		}
		return &lease.Write{
			Rule: &rules.Revive, Args: lease.Row{Available: time.Now().UnixMilli()},
		}, table.Item{table.Bucket: pool.drawBucket(r.Region)}, nil
	})
}

// SetPool moves an available resource to another pool of its client. See Retire for dry.
func (a *Admin) SetPool(ctx context.Context, client, name, pool string, dry bool) (Resource, error) {
	return a.change(ctx, client, name, dry, func(r *Resource, rules *lease.Rules) (*lease.Write, table.Item, error) {
		to, err := Get(ctx, a, Pool{Client: client, Pool: pool})
		switch {
		case err != nil:
			return nil, nil, err
		case r.Pool == pool:
			return nil, nil, nil
		case r.State != Available:
			return nil, nil, fmt.Errorf("%s: %w: it is %s; only an available resource can change its pool", r, ErrInUse, r.State)
		}
		// A transfer to its own region: the version grows, so no agent takes it that found it in
		// the former pool.
		return &lease.Write{Rule: &rules.Transfer, Args: lease.Row{Owner: r.Region, Available: r.row.Available}},
			table.Item{table.Bucket: to.drawBucket(r.Region), table.PoolID: table.S(pool)}, nil
	})
}

// change makes the write that decide returns, if the resource has not changed since. A nil write
// means that nothing is to be done.
func (a *Admin) change(ctx context.Context, client, name string, dry bool,
	decide func(*Resource, *lease.Rules) (*lease.Write, table.Item, error),
) (Resource, error) {
	r, err := a.Resource(ctx, client, name)
	if err != nil {
		return r, err
	}
	w, with, err := decide(&r, lease.Protocol())
	if err != nil || w == nil || dry {
		return r, err
	}
	if err := a.checkWriteLease(ctx, r.Region); err != nil {
		return r, fmt.Errorf("%s: %w", &r, err)
	}
	if with == nil {
		with = table.Item{}
	}
	w.Args.Version, w.Now, w.Skew = r.row.Version, time.Now().UnixMilli(), a.table.Skew.Milliseconds()
	item, ok, err := a.table.WriteItem(ctx, r.Region, lease.ResourceRow(client, name), w, with)
	switch {
	case err != nil:
		return r, err
	case !ok:
		return r, fmt.Errorf("%s: %w", &r, ErrVersionConflict)
	}
	return resourceOf(client, item)
}

// checkWriteLease returns an error if the region's write lease does not permit a write now, because
// another region may adopt the resource.
func (a *Admin) checkWriteLease(ctx context.Context, region string) error {
	limits, err := a.table.WriteLeases(ctx, a.home())
	if err != nil {
		return err
	}
	limit := limits[region]
	return limit.Check(time.Now(), a.table.Skew, a.table.Timeout)
}
