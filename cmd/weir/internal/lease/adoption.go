package lease

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease/admin"
)

// newRegionAdoptCmd returns `weir region adopt`.
func newRegionAdoptCmd(a *cli.App) *cobra.Command {
	var o admin.Adoption
	var since string
	var undo, wait, yes bool
	c := &cobra.Command{
		Use:   "adopt NAME --by REGION",
		Short: "Give the resources of a lost region to another region; without --yes, only show what would happen",
		Long: "Give the resources of a lost or unreachable region to the region --by.\n\n" +
			"The agents of the lost region must stop first. They stop at the end of the region's write lease.\n" +
			"The adoption ends the renewals of that write lease, and needs an answer from every other region\n" +
			"to do so. If a region does not answer, if the lost region has no write lease, or if it was the\n" +
			"home region, give --dead-since: your assertion that nothing was written through the lost region\n" +
			"since that time. The command still waits for write leases granted earlier.\n\n" +
			"Then each resource moves to the region --by. The last leases of the lost region are not known, so\n" +
			"the resource can be leased only after the longest lease that the pool ever allowed, and a\n" +
			"quarantine.\n\n" +
			"Without --yes the command changes nothing: it prints until when the region may write, and from\n" +
			"when the resources of each pool could be leased.\n\n" +
			"If the home region is lost, make another region the home first: `weir region home`. If the\n" +
			"adoption is interrupted, or reports remaining resources, run it again. --undo makes the\n" +
			"region active again; its resources stay with the other region.",
		Example: "  weir region update us-east-1 --write-lease 15m   (long before the region is lost)\n  weir region adopt us-east-1 --by us-west-2 --wait --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Region = args[0]
			var err error
			if o.DeadSince, err = deadSince(since); err != nil {
				return err
			}
			if !undo && o.By == "" {
				return cli.UsageError("--by is missing", "give --by REGION, the region that gets the resources")
			}
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			if undo {
				r, err := l.Readmit(cmd.Context(), o.Region)
				if err != nil {
					return connect.LeaseFailure("cannot make the region active again", err)
				}
				return cli.PrintOne(a, r)
			}
			if !yes {
				return adoption{a, l, wait}.plan(cmd.Context(), o)
			}
			return adoption{a, l, wait}.run(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.By, "by", "", "region that gets the resources")
	cli.Region(f, "by")
	f.StringVar(&since, "dead-since", "", "time since which nothing was written through the lost region, as RFC 3339")
	f.IntVar(&o.Rate, "rate", 0, "maximum number of rows per second (default: until the table throttles)")
	f.BoolVar(&wait, "wait", false, "wait for the end of the region's write lease, in place of an error with that time")
	f.BoolVar(&yes, "yes", false, "adopt; without it the command only shows what would happen")
	f.BoolVar(&undo, "undo", false, "make the region active again; its resources stay with the other region")
	connect.LeaseFlags(a, f)
	return c
}

// adoption is a run of `weir region adopt`. With wait it waits for the end of the write lease.
type adoption struct {
	a    *cli.App
	l    *node.LeaseTable
	wait bool
}

// plan prints what an adoption would do.
func (d adoption) plan(ctx context.Context, o admin.Adoption) error {
	plan, err := d.l.PlanAdoption(ctx, o)
	if err != nil {
		return connect.LeaseFailure("cannot adopt the region", err)
	}
	d.a.Notef(
		"region %s would stop leasing, for good unless --undo readmits it, and %s would get its resources: repeat the command with --yes",
		o.Region, o.By)
	return printWithPools(d.a, plan, plan.Pools)
}

// printWithPools prints v and, as a table, the pools that v has in other formats.
func printWithPools[T, P any](a *cli.App, v T, pools []P) error {
	if err := cli.PrintOne(a, v); err != nil || a.Structured() || len(pools) == 0 {
		return err
	}
	return cli.PrintRows(a, pools)
}

func (d adoption) run(ctx context.Context, o admin.Adoption) error {
	o.Progress = func(n admin.AdoptionProgress) { d.a.Notef("%d resources adopted", n.Adopted) }
	done, err := d.l.Adopt(ctx, o)
	var early *admin.EarlyError
	if errors.As(err, &early) && d.wait {
		d.a.Notef("waiting: %v", early)
		if !pause.For(ctx, time.Until(early.Until)) {
			return connect.LeaseFailure("cannot adopt the region", ctx.Err())
		}
		done, err = d.l.Adopt(ctx, o)
	}
	if err != nil {
		return connect.LeaseFailure("cannot adopt the region", err)
	}
	return printWithPools(d.a, done, done.Pools)
}
