package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Region holds the settings of a region: it has a replica of the table, and its agents lease
// resources.
type Region struct {
	Region string `json:"region"`
	// State is active, evacuating (its free resources move to other regions) or adopted (another
	// region owns its resources, see Adopt). Defaults to active.
	State string `json:"state"`
	// SwingTo is the region to which SwingPercent of the traffic is about to move. The balancer
	// transfers resources in advance.
	SwingTo      string `json:"swing_to" table:"wide"`
	SwingPercent int    `json:"swing_percent" table:"wide"`
	// WriteLease is the term of the region's write lease. If no grantor renews it for that long,
	// the region's agents stop, and another region can adopt its resources. Defaults to 0: the
	// region needs no write lease.
	WriteLease Duration `json:"region_lease" table:"wide"`
	AdoptedBy  string   `json:"adopted_by" table:"wide"`
	// WriteLeaseUntil is the end of the write lease, and Problem the error of a region that does
	// not answer. Only Regions sets them; they are not settings.
	WriteLeaseUntil time.Time `json:"lease_until,omitzero" table:"wide"`
	Problem         string    `json:"problem,omitempty"`
	StoredRow

	writeLeaseSince time.Time // when WriteLease was switched on
}

// String returns the region for messages.
func (r *Region) String() string { return fmt.Sprintf("region %q", r.Region) }

func (r *Region) primary() lease.PrimaryKey { return lease.RegionRow(r.Region) }

// minWriteLease leaves time for many renewals, and for their replication, before a write lease
// ends.
const minWriteLease = time.Minute

// Regions returns all regions, with the ends of their write leases and the errors of those that do
// not answer. If the home region does not answer, the settings are those of region at.
func (a *Admin) Regions(ctx context.Context) (all []Region, at string, err error) {
	if all, at, err = ListAny(ctx, a, Region{}); err != nil {
		return nil, at, err
	}
	writeLeases, err := a.table.WriteLeases(ctx, at)
	if err != nil {
		return nil, at, err
	}
	names, silent := make([]string, len(all)), map[string]error{}
	for i := range all {
		if names[i] = all[i].Region; writeLeases[names[i]].Until > 1 {
			all[i].WriteLeaseUntil = time.UnixMilli(writeLeases[names[i]].Until).UTC()
		}
	}
	a.eachRegion(names, func(_ int, region string) error {
		_, err := a.table.Get(ctx, region, lease.RegionRow(region))
		return err
	}, silent)
	for i := range all {
		if err := silent[all[i].Region]; err != nil {
			all[i].Problem = strings.TrimPrefix(err.Error(), names[i]+": ")
		}
	}
	return all, at, nil
}

func (r *Region) check() error {
	r.WriteLeaseUntil, r.Problem = time.Time{}, ""
	err := errors.Join(
		lease.CheckName("region", r.Region, lease.MaxName), checkDescription(r.Description),
		checkEnum("state", &r.State, table.RegionStates()),
	)
	switch {
	case err != nil:
		return err
	case r.SwingPercent < 0 || r.SwingPercent > 100:
		return fmt.Errorf("the swing is %d percent of the traffic: set 0 to 100", r.SwingPercent)
	case (r.SwingPercent > 0) != (r.SwingTo != ""), r.SwingTo == r.Region:
		return fmt.Errorf("a swing needs another region and more than 0 percent, and has region %q and %d percent: set both, or neither", r.SwingTo,
			r.SwingPercent)
	case r.WriteLease != 0 && (r.WriteLease < Duration(minWriteLease) || r.WriteLease > Duration(maxLease)):
		return fmt.Errorf("the write lease is %v: set 0 for none, or %v to %v", r.WriteLease, minWriteLease, maxLease)
	}
	return nil
}

func (r *Region) item() table.Item {
	if r.WriteLease > 0 && r.writeLeaseSince.IsZero() {
		r.writeLeaseSince = r.Updated
	}
	s := table.Region{
		WriteLeaseSince: r.writeLeaseSince, State: r.State, SwingTo: r.SwingTo, SwingPercent: r.SwingPercent,
		WriteLease: time.Duration(r.WriteLease), AdoptedBy: r.AdoptedBy,
	}
	return s.Item()
}

func (r *Region) read(item table.Item) error {
	s, err := table.RegionOf(item)
	r.writeLeaseSince = s.WriteLeaseSince
	r.Region, r.State, r.SwingTo, r.SwingPercent, r.WriteLease, r.AdoptedBy = s.Name, s.State, s.SwingTo, s.SwingPercent,
		Duration(s.WriteLease), s.AdoptedBy
	return err
}

func (r *Region) needs(_ context.Context, a *Admin) error {
	if !slices.Contains(a.regions, r.Region) {
		return fmt.Errorf("%s: %w: it is not one of the configured regions %v, so no agent could lease its resources", r, ErrInvalid,
			a.regions)
	}
	if r.SwingTo != "" && !slices.Contains(a.regions, r.SwingTo) {
		return fmt.Errorf("%s: %w: traffic cannot swing to %s, which is not one of the configured regions %v", r, ErrInvalid, r.SwingTo,
			a.regions)
	}
	return nil
}

func (r *Region) checkReplaces(old *Region) error {
	if r.writeLeaseSince = old.writeLeaseSince; old.WriteLease == 0 || r.WriteLease == 0 {
		r.writeLeaseSince = time.Time{}
	}
	if adopted := table.RegionAdopted; (r.State == adopted) != (old.State == adopted) {
		return fmt.Errorf("%s: Update cannot change its state from %s to %s: use Adopt or Readmit", r, old.State, r.State)
	}
	return nil
}

func (r *Region) unused(ctx context.Context, a *Admin) error {
	clients, err := List(ctx, a, Client{})
	if err != nil {
		return err
	}
	for _, c := range clients {
		err := a.Resources(ctx, c.Client, ResourceFilter{Region: r.Region, Limit: 1, InUse: true}, func(found Resource) error {
			return fmt.Errorf("%s: %w: the region owns resources, such as %q of client %q; retire or move them first",
				r, ErrInUse, found.Resource, c.Client)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
