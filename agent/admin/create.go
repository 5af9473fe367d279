package admin

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/lease/table"
)

// CreateResource puts in a resource that nobody knows yet; else the error is ErrExists.
func (a *Admin) CreateResource(ctx context.Context, client, pool, region, name string) (Resource, error) {
	r := Resource{Client: client, Resource: name}
	if err := checkResource(client, name); err != nil {
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
			err = fmt.Errorf("%w; weir resource update --revive puts it into use again", err)
		}
	}
	return r, err
}
