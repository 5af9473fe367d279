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
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
)

// Commands returns the commands about leases and their table.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newTableCmd(a), newRegionCmd(a), newClientCmd(a), newPoolCmd(a), newResourceCmd(a), newLeaseCmd(a),
		newStatusCmd(a), newDedupCmd(a), newBridgeCmd(a), newBalancerCmd(a),
	}
}

// leaseCmd holds the flags that the sub-commands of `weir lease` share.
type leaseCmd struct {
	a                 *cli.App
	client, pool, key string
	resource          string
	region            string
	length            time.Duration
	dry               bool
}

func (o *leaseCmd) keyFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.key, "key", "", "key that holds the lease")
}

// leaseRow is the output of `weir lease get`.
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
	c := &cobra.Command{Use: "lease", Short: "Get, show and release leases"}
	c.AddCommand(newLeaseGetCmd(a), newLeaseListCmd(a), newLeaseShowCmd(a), newLeaseReleaseCmd(a), newLeaseHistoryCmd(a),
		newLeaseHeadroomCmd(a))
	return c
}

// command returns a sub-command that connects to the table and calls do.
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
	f.StringVar(&o.client, "client", "", "client that has the pool")
	f.StringVar(&o.pool, "pool", "", "pool of the resource")
	cli.Must(c.MarkFlagRequired("client"))
	connect.LeaseFlags(o.a, f)
	return c
}

func newLeaseGetCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	c := o.command("get --client NAME --pool NAME --key KEY", "Get the lease of a key: the existing lease, or a new one", o.get)
	o.keyFlag(c)
	cli.Must(c.MarkFlagRequired("pool"))
	cli.Must(c.MarkFlagRequired("key"))
	c.Example = "  weir lease get --client demo --pool demo --key mine"
	c.Flags().DurationVar(&o.length, "for", 10*time.Minute, "length of a new lease; the longest lease of the pool limits it")
	connect.RegionFlag(a, c.Flags(), "region that grants the lease")
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
	c := o.command("show --client NAME --pool NAME --key KEY",
		"Show the leases of a key in each region, and whether the rows of their resources agree",
		func(ctx context.Context, l *node.LeaseTable) error {
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
	c := o.command("release --client NAME --pool NAME --key KEY", "Release the lease of a key before its end", o.release)
	o.keyFlag(c)
	cli.Must(c.MarkFlagRequired("pool"))
	cli.Must(c.MarkFlagRequired("key"))
	c.Long = "Release the lease of a key before its end, for all users of the key and in all regions. Users in\n" +
		"other regions keep the deadline, but their next `weir lease get` may begin a lease with another\n" +
		"resource. No other key gets the resource before the end and the quarantine."
	c.Flags().StringVar(&o.region, "region", "", "release only the lease of this region (default: of all regions)")
	cli.Region(c.Flags(), "region")
	dryRun(c.Flags(), &o.dry)
	return c
}

func (o *leaseCmd) release(ctx context.Context, l *node.LeaseTable) error {
	list, err := l.Lease(ctx, o.client, o.pool, o.key)
	if err != nil {
		return connect.LeaseFailure("cannot release the lease", err)
	}
	n := 0
	for _, k := range list {
		if o.region != "" && k.Region != o.region || k.State == string(lease.Released) || k.State == string(lease.Pending) && k.Ended {
			continue
		}
		if n++; k.Problem != "" {
			return cli.Fail(cli.ExitUnavailable, "cannot release the lease", errors.New(k.Region+" "+k.Problem),
				"try again when the region answers; without a release the lease ends at its deadline")
		}
		if !o.dry {
			// another key has the resource now
			if err := o.releaseIn(ctx, l, k); err != nil && !(k.Ended && errors.Is(err, agent.ErrEnded)) {
				return connect.LeaseFailure("cannot release the lease", err)
			}
		}
		o.a.Notef("%s of %s until %s %s", k.Resource, k.Region, k.Expires.Format(time.RFC3339), dryRunText(o.dry, "released"))
	}
	if n == 0 {
		where := ""
		if o.region != "" {
			where = " in " + o.region
		}
		return cli.Fail(cli.ExitFailed, "cannot release the lease", fmt.Errorf("key %q has no lease%s", o.key, where),
			"`weir lease show` shows the earlier leases of the key")
	}
	return nil
}

// releaseIn releases the lease of one region. A pending lease is completed first.
func (o *leaseCmd) releaseIn(ctx context.Context, l *node.LeaseTable, k admin.KeyLease) error {
	a, err := l.Agent(k.Region)
	if err != nil {
		return err
	}
	defer a.Close()
	held := agent.Lease{
		Client: o.client, Pool: o.pool, Key: o.key, Resource: k.Resource, Region: k.Region, Token: k.Token,
		Expires: k.Expires, Deadline: k.Expires.Add(-l.Config.Skew),
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
	f := admin.ResourceFilter{State: admin.Leased}
	c := o.command("list --client NAME", "List the leases of a client, from the copy of the home region",
		func(ctx context.Context, l *node.LeaseTable) error {
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
			if f.ReadRegion, err = answeringRegion(ctx, a, l); err != nil {
				return connect.LeaseFailure("cannot list the leases", err)
			}
			err = l.Resources(ctx, o.client, f, func(r admin.Resource) error {
				rows = append(rows, row{r.Key, r.Pool, r.Resource, r.Region, r.Token, r.Until, r.Until.Before(now)})
				return nil
			})
			if err != nil {
				return connect.LeaseFailure("cannot list the leases", err)
			}
			slices.SortFunc(rows, func(x, y row) int {
				return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Region, y.Region))
			})
			return cli.PrintRows(a, rows)
		})
	o.keyFlag(c)
	c.Flags().StringVar(&f.Region, "in-region", "", "only leases of this region")
	cli.Region(c.Flags(), "in-region")
	c.Flags().IntVar(&f.Limit, "limit", 0, "maximum number of leases (default: all)")
	return c
}

// headroomRow is the free resources of a pool in a region, with the forecast.
type headroomRow struct {
	Region  string    `json:"region"`
	Free    int       `json:"free"`
	More    bool      `json:"more" table:"wide"` // there are more than were counted
	Soon    int       `json:"soon"`
	Coming  int       `json:"coming"`
	Need    int       `json:"need"`
	Within  string    `json:"within"` // horizon of soon and need; empty: no balancer runs
	Refused int       `json:"refused"`
	AsOf    time.Time `json:"as_of"`
	Problem string    `json:"problem"` // why the region is not known
}

func newLeaseHeadroomCmd(a *cli.App) *cobra.Command {
	o := &leaseCmd{a: a}
	const short = "Show the free resources of a pool in each region, and the forecast"
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
		return connect.LeaseFailure("cannot show all regions", failed)
	})
	c.Long = short + ".\n\n" +
		"The figures and the forecast are the balancer's. Where no balancer runs, the command counts the\n" +
		"free resources, up to 1,000 in each bucket."
	cli.Must(c.MarkFlagRequired("pool"))
	return c
}

// headroomIn returns the row of region. If the region does not answer, the row holds the reason.
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
	row.Free, row.More, row.AsOf = h.Free, h.AtLeast, h.AsOf.UTC()
	if f := h.Forecast; f != nil {
		row.Soon, row.Coming, row.Need, row.Within, row.Refused = f.Returning, f.InTransit, f.Need, f.Horizon.String(), f.Refused
	}
	return row, nil
}
