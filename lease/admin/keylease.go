package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// KeyLease is a key's lease, as a region has it, compared with the row of its resource.
type KeyLease struct {
	Region   string    `json:"region"`
	State    string    `json:"state"` // pending, leased, released or superseded
	Ended    bool      `json:"ended"`
	Resource string    `json:"resource"`
	Token    int64     `json:"token"`
	Expires  time.Time `json:"expires"`
	Winner   string    `json:"winner,omitempty"` // superseded: the region whose lease is valid
	// Consistency states whether the resource row has the same lease: "yes, until ..." or "no:
	// ...".
	Consistency string `json:"holds"`
	// Problem is the error of the region, if it does not answer.
	Problem string `json:"problem,omitempty"`
}

// Lease returns the leases of a key, each as its own region has it. If a region does not answer,
// another region's copy is used.
func (a *Admin) Lease(ctx context.Context, client, pool, key string) ([]KeyLease, error) {
	if err := invalid(lease.CheckLease(client, pool, key)); err != nil {
		return nil, err
	}
	partition := lease.KeyPartition(client, pool, key)
	found, silent := make([][]table.Item, len(a.regions)), map[string]error{}
	a.eachRegion(a.regions, func(i int, region string) (err error) {
		found[i], err = a.table.Query(ctx, region, partition)
		return err
	}, silent)
	var list []KeyLease
	for i, region := range a.regions {
		from, err := i, silent[region]
		if err != nil {
			if !errors.Is(err, table.ErrUnavailable) || len(silent) == len(a.regions) {
				return nil, err
			}
			from = slices.IndexFunc(a.regions, func(r string) bool { return silent[r] == nil })
		}
		l := KeyLease{Region: region}
		for _, item := range found[from] {
			if table.Text(item, table.SK) != region {
				continue
			}
			row, err := table.Row(item)
			if err != nil {
				return nil, fmt.Errorf("%w: row %s of %s: %w", table.ErrTable, region, partition, err)
			}
			if l, err = a.keyLease(ctx, client, pool, key, region, row, a.regions[from]); err != nil {
				return nil, err
			}
		}
		if err != nil {
			l.Problem = fmt.Sprintf("%v; this is the copy of %s", err, a.regions[from])
		}
		if l.State != "" || l.Problem != "" {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(x, y KeyLease) int { return strings.Compare(x.Region, y.Region) })
	return list, nil
}

func (a *Admin) keyLease(ctx context.Context, client, pool, key, region string, row lease.Row, at string) (KeyLease, error) {
	l := KeyLease{
		Region: region, State: string(row.State), Resource: row.Resource, Token: row.ResourceVersion,
		Expires: time.UnixMilli(row.Expires).UTC(), Winner: row.Winner,
	}
	l.Ended = l.Expires.Before(time.Now())
	r, err := a.resource(ctx, at, client, row.Resource)
	switch {
	case errors.Is(err, table.ErrUnavailable):
		l.Consistency = fmt.Sprintf("unknown: %s does not answer", cmp.Or(r.Region, at))
	case errors.Is(err, ErrNotFound):
		l.Consistency = "no such resource"
	case err != nil:
		return l, err
	case r.row.Holder == lease.Holder(pool, key):
		l.Consistency = "yes, until " + r.Until.Format(time.RFC3339)
	case r.Key != "":
		l.Consistency = fmt.Sprintf("no: it is leased to key %q of pool %q", r.Key, r.holderPool)
	default:
		l.Consistency = "no: it is " + string(r.State)
	}
	return l, nil
}
