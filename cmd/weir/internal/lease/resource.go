package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease/admin"
)

// resources holds the flags that the sub-commands of `weir resource` share.
type resources struct {
	a            *cli.App
	client, pool string
	dry          bool
}

// newResourceCmd returns `weir resource`.
func newResourceCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "resource", Short: "Add, show, change and retire resources"}
	c.AddCommand(newResourceCreateCmd(a), newResourceGetCmd(a), newResourceListCmd(a))
	c.AddCommand(newResourceUpdateCmd(a), newResourceDeleteCmd(a), newResourceImportCmd(a))
	return c
}

// command returns a sub-command whose arguments are names of resources.
func (r *resources) command(use, short string, do func(context.Context, *node.LeaseTable, []string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := connect.LeaseTable(cmd.Context(), r.a)
			if err != nil {
				return err
			}
			return do(cmd.Context(), l, args)
		},
	}
	r.flags(c.Flags())
	return c
}

func (r *resources) flags(f *pflag.FlagSet) {
	f.StringVar(&r.client, "client", "", "client of the resources")
	cli.Must(cobra.MarkFlagRequired(f, "client"))
	connect.LeaseFlags(r.a, f)
}

func (r *resources) poolFlag(f *pflag.FlagSet) {
	f.StringVar(&r.pool, "pool", "", "pool of the resources")
	cli.Must(cobra.MarkFlagRequired(f, "pool"))
}

// each calls do for each name and prints the resources.
func (r *resources) each(names []string, what string, do func(name string) (admin.Resource, error)) error {
	rows := make([]admin.Resource, 0, len(names))
	var failed error
	for _, name := range names {
		row, err := do(name)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		rows = append(rows, row)
	}
	if r.dry {
		r.a.Notef("dry run: nothing is changed")
	}
	if len(rows) > 0 {
		if err := cli.PrintRows(r.a, rows); err != nil {
			return err
		}
	}
	return connect.LeaseFailure(what, failed)
}

func newResourceCreateCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	c := r.command("create NAME...", "Add resources to a pool", func(ctx context.Context, l *node.LeaseTable, names []string) error {
		return r.each(names, "cannot add all resources", func(name string) (admin.Resource, error) {
			return l.CreateResource(ctx, r.client, r.pool, l.Config.LocalRegion(), name)
		})
	})
	r.poolFlag(c.Flags())
	connect.RegionFlag(a, c.Flags(), "region that owns the resources")
	return c
}

func newResourceGetCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	return r.command("get NAME...", "Show resources, from the region that owns them",
		func(ctx context.Context, l *node.LeaseTable, names []string) error {
			return r.each(names, "cannot show all resources",
				func(name string) (admin.Resource, error) { return l.Resource(ctx, r.client, name) })
		})
}

func newResourceUpdateCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	var revive bool
	c := r.command("update NAME...", "Move available resources to another pool, or revive retired ones",
		func(ctx context.Context, l *node.LeaseTable, names []string) error {
			if revive == (r.pool != "") {
				return cli.UsageError("give exactly one change", "give --pool or --revive")
			}
			return r.each(names, "cannot change all resources", func(name string) (admin.Resource, error) {
				if revive {
					return l.Revive(ctx, r.client, name, r.dry)
				}
				return l.SetPool(ctx, r.client, name, r.pool, r.dry)
			})
		})
	c.Flags().StringVar(&r.pool, "pool", "", "new pool of the resources")
	c.Flags().BoolVar(&revive, "revive", false, "make retired resources available again")
	dryRun(c.Flags(), &r.dry)
	return c
}

func newResourceListCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	f := admin.ResourceFilter{}
	var state string
	c := &cobra.Command{
		Use:   "list",
		Short: "List resources, from the copy of the home region",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch f.State = admin.State(state); f.State {
			case "", admin.Available, admin.Leased, admin.Quarantine, admin.Retired:
			default:
				return cli.UsageError(fmt.Sprintf("--state %q does not exist", state), "use available, leased, quarantine or retired")
			}
			return listResources(cmd.Context(), a, r.client, f)
		},
	}
	r.flags(c.Flags())
	c.Flags().StringVar(&f.Pool, "pool", "", "only resources of this pool")
	c.Flags().StringVar(&f.Region, "in-region", "", "only resources of this region")
	c.Flags().StringVar(&state, "state", "", "only resources in this state: available, leased, quarantine or retired")
	cli.Region(c.Flags(), "in-region")
	cli.Enum(c.Flags(), "state", "available", "leased", "quarantine", "retired")
	c.Flags().StringVar(&f.Prefix, "prefix", "", "only resources whose name has this prefix")
	c.Flags().IntVar(&f.Limit, "limit", 0, "maximum number of resources (default: all)")
	return c
}

// listResources prints the resources that match f. JSONL is printed in pages of 1,000, other
// formats in the order of names.
func listResources(ctx context.Context, a *cli.App, client string, f admin.ResourceFilter) error {
	l, err := connect.LeaseTable(ctx, a)
	if err != nil {
		return err
	}
	var rows []admin.Resource
	flush := func() error {
		err := cli.PrintRows(a, rows)
		rows = rows[:0]
		return err
	}
	if f.ReadRegion, err = answeringRegion(ctx, a, l); err != nil {
		return connect.LeaseFailure("cannot list the resources", err)
	}
	err = l.Resources(ctx, client, f, func(r admin.Resource) error {
		if rows = append(rows, r); a.Format == cli.FormatJSONL && len(rows) == 1000 {
			return flush()
		}
		return nil
	})
	if err != nil {
		return connect.LeaseFailure("cannot list the resources", err)
	}
	slices.SortFunc(rows, func(x, y admin.Resource) int { return cmp.Compare(x.Resource, y.Resource) })
	return flush()
}
