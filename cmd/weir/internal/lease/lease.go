package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease"
)

// Commands returns the commands about leases and their table.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newTableCmd(a), newRegionCmd(a), newClientCmd(a), newPoolCmd(a), newResourceCmd(a), newLeaseCmd(a), newStatusCmd(a), newDedupCmd(a), newBridgeCmd(a), newBalancerCmd(a)}
}

// leaseCmd is what the sub-commands of `weir lease` share.
type leaseCmd struct {
	a                 *cli.App
	client, pool, key string
	resource          string
	length            time.Duration
	dry               bool
}

func (o *leaseCmd) keyFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.key, "key", "", "key that has the lease")
}

// leaseRow is a lease as it is shown.
type leaseRow struct {
	Key      string    `json:"key"`
	Resource string    `json:"resource"`
	Region   string    `json:"region"`
	Token    int64     `json:"token"`
	Expires  time.Time `json:"expires"`
	Deadline time.Time `json:"deadline"`
	New      bool      `json:"new"`
	Clamped  bool      `json:"clamped" table:"wide"`
}

func rowOfLease(l agent.Lease) leaseRow {
	return leaseRow{l.Key, l.Resource, l.Region, l.Token, l.Expires.UTC(), l.Deadline.UTC(), l.New, l.Clamped}
}

// newLeaseCmd returns `weir lease`.
func newLeaseCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "lease", Short: "Takes, shows and gives back leases"}
	c.AddCommand(newLeaseGetCmd(a), newLeaseListCmd(a), newLeaseShowCmd(a), newLeaseReleaseCmd(a), newLeaseHistoryCmd(a), newLeaseHeadroomCmd(a))
	return c
}

// command is a sub-command about one key.
func (o *leaseCmd) command(use, short string, do func(context.Context, *node.LeaseTable) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := connect.LeaseTable(cmd.Context(), o.a)
			if err != nil {
				return err
			}
			return do(cmd.Context(), l)
		},
	}
	f := c.Flags()
	f.StringVar(&o.client, "client", "", "client whose pool it is")
	f.StringVar(&o.pool, "pool", "", "pool that is leased from")
	cli.Must(c.MarkFlagRequired("client"))
	connect.LeaseFlags(o.a, f)
	return c
}

func newLeaseGetCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	c := o.command("get", "Gets the lease of a key: the one there is, or a new one", o.get)
	o.keyFlag(c)
	cli.Must(c.MarkFlagRequired("pool"))
	cli.Must(c.MarkFlagRequired("key"))
	c.Example = "  weir lease get --client demo --pool demo --key mine"
	c.Flags().DurationVar(&o.length, "for", 10*time.Minute, "length of a new lease")
	connect.RegionFlag(a, c.Flags(), "region to ask")
	return c
}

func (o *leaseCmd) get(ctx context.Context, l *node.LeaseTable) error {
	a, err := l.Agent(l.Config.LocalRegion())
	if err != nil {
		return connect.LeaseFailure("cannot get the lease", err)
	}
	defer a.Close()
	got, err := a.GetLease(ctx, o.client, o.pool, o.key, time.Now().Add(o.length))
	if err != nil {
		return connect.LeaseFailure("cannot get the lease", err)
	}
	return cli.PrintOne(o.a, rowOfLease(got))
}

func newLeaseShowCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	c := o.command("show", "Shows the leases of a key, each as its region has it, and whether the resource's row says the same", func(ctx context.Context, l *node.LeaseTable) error {
		list, err := l.Lease(ctx, o.client, o.pool, o.key)
		if err != nil {
			return connect.LeaseFailure("cannot show the lease", err)
		}
		if len(list) == 0 && !a.Structured() {
			a.Notef("key %q never had a lease", o.key)
			return nil
		}
		return cli.PrintRows(a, list)
	})
	o.keyFlag(c)
	cli.Must(c.MarkFlagRequired("pool"))
	cli.Must(c.MarkFlagRequired("key"))
	return c
}

func newLeaseReleaseCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	c := o.command("release", "Gives the lease of a key back before its end", o.release)
	o.keyFlag(c)
	cli.Must(c.MarkFlagRequired("pool"))
	cli.Must(c.MarkFlagRequired("key"))
	dryRun(c.Flags(), &o.dry)
	return c
}

func (o *leaseCmd) release(ctx context.Context, l *node.LeaseTable) error {
	list, err := l.Lease(ctx, o.client, o.pool, o.key)
	if err != nil {
		return connect.LeaseFailure("cannot give the lease back", err)
	}
	n := 0
	for _, k := range list {
		if k.State == string(lease.Released) || k.State == string(lease.Pending) && k.Ended {
			continue
		}
		if n++; k.Problem != "" {
			return cli.Fail(cli.ExitUnavailable, "cannot give the lease back", errors.New(k.Region+" "+k.Problem), "try again when the region answers; the lease ends by itself")
		}
		if !o.dry {
			if err := o.give(ctx, l, k); err != nil && !(k.Ended && errors.Is(err, agent.ErrEnded)) { // another key has it by now
				return connect.LeaseFailure("cannot give the lease back", err)
			}
		}
		o.a.Notef("%s of %s until %s %s", k.Resource, k.Region, k.Expires.Format(time.RFC3339), dryRunText(o.dry, "given back"))
	}
	if n == 0 {
		return cli.Fail(cli.ExitFailed, "cannot give the lease back", fmt.Errorf("key %q has none", o.key), "`weir lease show` says what is known of it")
	}
	return nil
}

// give gives one region's lease back. What is pending is settled first, by asking for it.
func (o *leaseCmd) give(ctx context.Context, l *node.LeaseTable, k admin.KeyLease) error {
	a, err := l.Agent(k.Region)
	if err != nil {
		return err
	}
	defer a.Close()
	held := agent.Lease{
		Client: o.client, Pool: o.pool, Key: o.key, Resource: k.Resource, Region: k.Region, Token: k.Token, Expires: k.Expires, Deadline: k.Expires.Add(-l.Config.Skew),
	}
	if k.State == string(lease.Pending) {
		if held, err = a.GetLease(ctx, o.client, o.pool, o.key, k.Expires); err != nil {
			return err
		}
	}
	return a.Release(ctx, held)
}

func newLeaseListCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	f := admin.Filter{State: admin.Leased}
	c := o.command("list", "Lists the leases of a client, as the home knows them", func(ctx context.Context, l *node.LeaseTable) error {
		type row struct {
			Key      string    `json:"key"`
			Pool     string    `json:"pool"`
			Resource string    `json:"resource"`
			Region   string    `json:"region"`
			Token    int64     `json:"token"`
			Until    time.Time `json:"until"`
			Ended    bool      `json:"ended"`
		}
		rows, now := []row{}, time.Now()
		f.Pool, f.Key = o.pool, o.key
		var err error
		if f.At, err = answeringRegion(ctx, a, l); err != nil {
			return connect.LeaseFailure("cannot list", err)
		}
		err = l.Resources(ctx, o.client, f, func(r admin.Resource) error {
			rows = append(rows, row{r.Key, r.Pool, r.Resource, r.Region, r.Token, r.Until, r.Until.Before(now)})
			return nil
		})
		if err != nil {
			return connect.LeaseFailure("cannot list", err)
		}
		slices.SortFunc(rows, func(x, y row) int {
			return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Region, y.Region))
		})
		return cli.PrintRows(a, rows)
	})
	o.keyFlag(c)
	c.Flags().StringVar(&f.Region, "in-region", "", "only of this region")
	c.Flags().IntVar(&f.Limit, "limit", 0, "stop after so many (default: all)")
	return c
}

// headroomRow is how much a region has, and what is expected there.
type headroomRow struct {
	Region  string    `json:"region"`
	Free    int       `json:"free"`
	More    bool      `json:"more" table:"wide"` // counted: there are more
	Soon    int       `json:"soon"`
	Coming  int       `json:"coming"`
	Need    int       `json:"need"`
	Within  string    `json:"within"` // what soon and need are about; empty: no balancer runs
	Refused int       `json:"refused"`
	AsOf    time.Time `json:"as_of"`
	Problem string    `json:"problem"` // why nothing is known
}

func newLeaseHeadroomCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	short := "Shows what can be leased in each region and what is expected there; without a balancer it counts, up to 1,000 a sub-partition"
	c := o.command("headroom", short, func(ctx context.Context, l *node.LeaseTable) error {
		var rows []headroomRow
		var failed error
		regions, _ := l.Config.RegionEndpoints()
		for _, region := range regions {
			row, err := headroomIn(ctx, l, region, o)
			if err != nil {
				failed = err
			}
			rows = append(rows, row)
		}
		if err := cli.PrintRows(a, rows); err != nil || failed == nil {
			return err
		}
		return connect.LeaseFailure("not all regions can be asked", failed)
	})
	cli.Must(c.MarkFlagRequired("pool"))
	return c
}

func headroomIn(ctx context.Context, l *node.LeaseTable, region string, o *leaseCmd) (headroomRow, error) {
	row := headroomRow{Region: region}
	in, err := l.Agent(region)
	if err != nil {
		row.Problem = err.Error()
		return row, err
	}
	defer in.Close()
	h, err := in.Headroom(ctx, o.client, o.pool)
	if err != nil {
		row.Problem = err.Error()
		return row, err
	}
	row.Free, row.More, row.AsOf = h.Free, h.More, h.AsOf.UTC()
	if f := h.Forecast; f != nil {
		row.Soon, row.Coming, row.Need, row.Within, row.Refused = f.Returning, f.InTransit, f.Need, f.Horizon.String(), f.Refused
	}
	return row, nil
}
