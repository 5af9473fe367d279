package agent

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// settings reads a pool's settings.
func (a *Agent) settings(ctx context.Context, client, pool string) (leasetable.Pool, error) {
	items, err := a.table.query(ctx, a.cfg.Region, lease.ClientRow(client).Partition)
	if err != nil {
		return leasetable.Pool{}, err
	}
	want := lease.PoolRow(client, pool).Sort
	known := false
	for _, item := range items {
		switch leasetable.Text(item, leasetable.SK) {
		case lease.ClientRow(client).Sort:
			known = true
		case want:
			p, err := leasetable.PoolOf(item)
			if err != nil {
				return p, fmt.Errorf("%w: settings of pool %s: %w", ErrTable, pool, err)
			}
			return p, nil
		}
	}
	if !known {
		return leasetable.Pool{}, fmt.Errorf("%w: client %q is not in the table (weir client create)", ErrUnknown, client)
	}
	return leasetable.Pool{}, fmt.Errorf("%w: client %q has no pool %q (weir pool create)", ErrUnknown, client, pool)
}
