package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// Region is where resources are: one that has a replica of the table, and whose agents may lease.
type Region struct {
	Region string `json:"region"`
	Stored
}

// String names it.
func (r *Region) String() string { return fmt.Sprintf("region %q", r.Region) }

func (r *Region) primary() lease.Primary { return lease.RegionRow(r.Region) }

func (r *Region) check() error {
	return errors.Join(lease.CheckName("region", r.Region, lease.MaxName), checkDescription(r.Description))
}

func (r *Region) item() leasetable.Item { return leasetable.Item{} }

func (r *Region) read(item leasetable.Item) error {
	r.Region = leasetable.Text(item, leasetable.SK)
	return nil
}

func (r *Region) needs(_ context.Context, a *Admin) error {
	if !slices.Contains(a.regions, r.Region) {
		return fmt.Errorf("%s: %w: it is not one of the configured regions %v: a resource there could never be leased", r, ErrInvalid, a.regions)
	}
	return nil
}

func (r *Region) follows(*Region) error { return nil }

func (r *Region) unused(ctx context.Context, a *Admin) error {
	clients, err := List(ctx, a, Client{})
	if err != nil {
		return err
	}
	for _, c := range clients {
		err := a.Resources(ctx, c.Client, Filter{Region: r.Region, Limit: 1, InUse: true}, func(found Resource) error {
			return fmt.Errorf("%s: %w: it owns resources, such as %q of client %q; retire or move them first", r, ErrInUse, found.Resource, c.Client)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
