package lease

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
)

// newRegionCmd returns `weir region`.
func newRegionCmd(a *cli.App) *cobra.Command {
	c := newSettingsCmd(&settingsCommand[admin.Region]{
		a: a, noun: "region",
		name:    func(r *admin.Region) *string { return &r.Region },
		parents: func(*pflag.FlagSet, *admin.Region) {},
		fields: func(f *pflag.FlagSet, r *admin.Region) {
			f.StringVar(&r.SwingTo, "swing-to", r.SwingTo,
				"region that will get a part of this region's traffic; the balancer transfers resources first")
			cli.Region(f, "swing-to")
			f.IntVar(&r.SwingPercent, "swing-percent", r.SwingPercent, "percentage of the traffic that moves to --swing-to")
			f.DurationVar((*time.Duration)(&r.WriteLease), "write-lease", time.Duration(r.WriteLease),
				"term of the region's write lease: without a renewal its agents stop at the end, and another region may adopt its resources; 0: no limit")
			descriptionFlag(f, &r.StoredRow)
		},
		look: func(ctx context.Context, l *node.LeaseTable) ([]admin.Region, string, error) { return l.Regions(ctx) },
	}, "Create, show, change and delete regions, and move resources out of them")
	c.AddCommand(newRegionEvacuateCmd(a), newRegionAdoptCmd(a), newRegionHomeCmd(a))
	return c
}

// newRegionEvacuateCmd returns `weir region evacuate`.
func newRegionEvacuateCmd(a *cli.App) *cobra.Command {
	var undo, dry bool
	c := &cobra.Command{
		Use:   "evacuate NAME",
		Short: "Move all free resources of a region to the other regions",
		Long: "Mark a region as evacuating. The balancer then transfers all its free resources to the other\n" +
			"regions, and none to it. Leases of the region stay valid; their resources leave when they end.\n" +
			"`weir status` shows the progress. --undo makes the region active again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			return evacuate(cmd.Context(), a, l, evacuation{args[0], undo, dry})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "make the region active again")
	dryRun(c.Flags(), &dry)
	connect.LeaseFlags(a, c.Flags())
	return c
}

type evacuation struct {
	region    string
	undo, dry bool
}

func evacuate(ctx context.Context, a *cli.App, l *node.LeaseTable, e evacuation) error {
	r, err := admin.Get(ctx, l.Admin, admin.Region{Region: e.region})
	if err != nil {
		return connect.LeaseFailure("cannot evacuate the region", err)
	}
	from, to := table.RegionActive, table.RegionEvacuating
	if e.undo {
		from, to = to, from
	}
	if r.State != to {
		if r.State != from {
			return cli.UsageError("the state of region "+r.Region+" is "+r.State+", not "+from,
				"`weir region get "+r.Region+"` shows the region; `weir region adopt --undo` ends an adoption")
		}
		if r.State = to; !e.dry {
			if r, err = admin.Update(ctx, l.Admin, r); err != nil {
				return connect.LeaseFailure("cannot evacuate the region", err)
			}
		}
	}
	a.Notef("region %s %s", r.Region, dryRunText(e.dry, to))
	return cli.PrintOne(a, r)
}
