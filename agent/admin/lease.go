package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// KeyLease is what a region knows of a key's lease, and what the row of its resource says.
type KeyLease struct {
	Region   string    `json:"region"`
	State    string    `json:"state"` // pending, leased, released or superseded
	Ended    bool      `json:"ended"`
	Resource string    `json:"resource"`
	Token    int64     `json:"token"`
	Expires  time.Time `json:"expires"`
	Winner   string    `json:"winner,omitempty"` // superseded: the region whose lease counts
	// Holds tells in words whether the resource's row says the same.
	Holds string `json:"holds"`
}

// Lease shows the leases of a key, each as its own region has it.
func (a *Admin) Lease(ctx context.Context, client, pool, key string) ([]KeyLease, error) {
	if err := invalid(lease.CheckLease(client, pool, key)); err != nil {
		return nil, err
	}
	partition := lease.KeyRows(client, pool, key)
	var list []KeyLease
	for _, region := range a.regions {
		own, err := a.table.Get(ctx, region, lease.Primary{Partition: partition, Sort: region})
		if err != nil {
			return nil, err
		}
		if own == nil {
			continue
		}
		row, err := leasetable.Row(own)
		if err != nil {
			return nil, fmt.Errorf("%w: row %s of %s: %w", leasetable.ErrTable, region, partition, err)
		}
		l, err := a.keyLease(ctx, client, pool, key, region, row)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(x, y KeyLease) int { return strings.Compare(x.Region, y.Region) })
	return list, nil
}

func (a *Admin) keyLease(ctx context.Context, client, pool, key, region string, row lease.Row) (KeyLease, error) {
	l := KeyLease{
		Region: region, State: string(row.State), Resource: row.Resource, Token: row.At, Expires: time.UnixMilli(row.Expires).UTC(), Winner: row.Winner,
	}
	l.Ended = l.Expires.Before(time.Now())
	r, err := a.Resource(ctx, client, row.Resource)
	switch {
	case errors.Is(err, ErrNotFound):
		l.Holds = "no such resource"
	case err != nil:
		return l, err
	case r.row.Key == lease.Holder(pool, key):
		l.Holds = "yes, until " + r.Until.Format(time.RFC3339)
	case r.Key != "":
		l.Holds = fmt.Sprintf("no: key %q of pool %q has it", r.Key, r.held)
	default:
		l.Holds = "no: it is " + string(r.State)
	}
	return l, nil
}
