package lease

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease/table"
)

// newRegionCmd returns `weir region`.
func newRegionCmd(a *cli.App) *cobra.Command {
	c := newSettingsCmd(&settingsCommand[admin.Region]{
		a: a, noun: "region",
		name:    func(r *admin.Region) *string { return &r.Region },
		parents: func(*pflag.FlagSet, *admin.Region) {},
		fields: func(f *pflag.FlagSet, r *admin.Region) {
			f.StringVar(&r.SwingTo, "swing-to", r.SwingTo, "region that part of its traffic is about to go to: resources go before it")
			f.IntVar(&r.SwingPercent, "swing-percent", r.SwingPercent, "how much of its traffic")
			f.DurationVar((*time.Duration)(&r.WriteLease), "write-lease", time.Duration(r.WriteLease),
				"how long its agents may lease when no other region vouches for it; then others may adopt its resources; 0: for ever")
			descriptionFlag(f, &r.Stored)
		},
		look: func(ctx context.Context, l *node.LeaseTable) ([]admin.Region, string, error) { return l.Regions(ctx) },
	}, "Makes, shows and removes regions: where resources are")
	c.AddCommand(newRegionEvacuateCmd(a), newRegionAdoptCmd(a), newRegionHomeCmd(a))
	return c
}

// newRegionEvacuateCmd returns `weir region evacuate`.
func newRegionEvacuateCmd(a *cli.App) *cobra.Command {
	var undo, dry bool
	c := &cobra.Command{
		Use:   "evacuate NAME",
		Short: "Has the balancer move all free resources of a region to the others, and none to it",
		Long: "Has the balancer move all free resources of a region to the others, and none to it. Leases there go on; what they end with\n" +
			"leaves, too. `weir status` shows how far it is. --undo makes it a region like the others again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			return evacuate(cmd.Context(), a, l, evacuation{args[0], undo, dry})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "make it active again")
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
	from, to := table.Active, table.Evacuating
	if e.undo {
		from, to = to, from
	}
	if r.State != to {
		if r.State != from {
			return cli.UsageError("region "+r.Region+" is "+r.State, "weir region get "+r.Region+" shows it; an adopted region comes back with weir region adopt --undo")
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
