package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
)

// resources is what the sub-commands of `weir resource` share.
type resources struct {
	a            *cli.App
	client, pool string
	dry          bool
}

// newResourceCmd returns `weir resource`.
func newResourceCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "resource", Short: "Puts resources in and takes them out"}
	c.AddCommand(newResourceCreateCmd(a), newResourceGetCmd(a), newResourceListCmd(a), newResourceUpdateCmd(a), newResourceDeleteCmd(a), newResourceImportCmd(a))
	return c
}

// command is one of the sub-commands, for one or more resources.
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
	f.StringVar(&r.client, "client", "", "client that it is of")
	cli.Must(cobra.MarkFlagRequired(f, "client"))
	connect.LeaseFlags(r.a, f)
}

func (r *resources) poolFlag(f *pflag.FlagSet) {
	f.StringVar(&r.pool, "pool", "", "pool that it is in")
	cli.Must(cobra.MarkFlagRequired(f, "pool"))
}

// each does something with each name, and shows what became of all.
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
		r.a.Notef("a dry run: nothing is changed")
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
	c := r.command("create NAME...", "Puts resources in", func(ctx context.Context, l *node.LeaseTable, names []string) error {
		return r.each(names, "not all are put in", func(name string) (admin.Resource, error) {
			return l.CreateResource(ctx, r.client, r.pool, l.Config.LocalRegion(), name)
		})
	})
	r.poolFlag(c.Flags())
	connect.RegionFlag(a, c.Flags(), "region that has it")
	return c
}

func newResourceGetCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	return r.command("get NAME...", "Shows resources, each as its region has it", func(ctx context.Context, l *node.LeaseTable, names []string) error {
		return r.each(names, "not all are there", func(name string) (admin.Resource, error) { return l.Resource(ctx, r.client, name) })
	})
}

func newResourceUpdateCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	var revive bool
	c := r.command("update NAME...", "Puts available resources into another pool, or retired ones into use again", func(ctx context.Context, l *node.LeaseTable, names []string) error {
		if revive == (r.pool != "") {
			return cli.UsageError("one thing can be changed at a time", "give --pool or --revive")
		}
		return r.each(names, "not all are changed", func(name string) (admin.Resource, error) {
			if revive {
				return l.Revive(ctx, r.client, name, r.dry)
			}
			return l.SetPool(ctx, r.client, name, r.pool, r.dry)
		})
	})
	c.Flags().StringVar(&r.pool, "pool", "", "pool that it goes to")
	c.Flags().BoolVar(&revive, "revive", false, "put it into use again")
	dryRun(c.Flags(), &r.dry)
	return c
}

func newResourceDeleteCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	c := r.command("delete NAME...", "Takes available resources out of use", func(ctx context.Context, l *node.LeaseTable, names []string) error {
		return r.each(names, "not all are taken out", func(name string) (admin.Resource, error) { return l.Retire(ctx, r.client, name, r.dry) })
	})
	c.Long = "Takes available resources out of use. Their rows stay, as retired: a resource that comes back must go on with its version,\n" +
		"which is the token of its leases. `weir resource update --revive` puts it into use again."
	dryRun(c.Flags(), &r.dry)
	return c
}

func newResourceListCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	f := admin.Filter{}
	var state string
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists resources, as the home knows them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch f.State = admin.State(state); f.State {
			case "", admin.Available, admin.Leased, admin.Quarantine, admin.Retired:
			default:
				return cli.UsageError(fmt.Sprintf("--state %q is not known", state), "use available, leased, quarantine or retired")
			}
			return listResources(cmd.Context(), a, r.client, f)
		},
	}
	r.flags(c.Flags())
	c.Flags().StringVar(&f.Pool, "pool", "", "only of this pool")
	c.Flags().StringVar(&f.Region, "in-region", "", "only of this region")
	c.Flags().StringVar(&state, "state", "", "only in this state: available, leased, quarantine or retired")
	c.Flags().StringVar(&f.Prefix, "prefix", "", "only those whose names begin so")
	c.Flags().IntVar(&f.Limit, "limit", 0, "stop after so many (default: all)")
	return c
}

// listResources prints what is found: as it comes, or in order where it is a table.
func listResources(ctx context.Context, a *cli.App, client string, f admin.Filter) error {
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
	if f.At, err = answeringRegion(ctx, a, l); err != nil {
		return connect.LeaseFailure("cannot list", err)
	}
	err = l.Resources(ctx, client, f, func(r admin.Resource) error {
		if rows = append(rows, r); a.Format == cli.FormatJSONL && len(rows) == 1000 {
			return flush()
		}
		return nil
	})
	if err != nil {
		return connect.LeaseFailure("cannot list", err)
	}
	slices.SortFunc(rows, func(x, y admin.Resource) int { return cmp.Compare(x.Resource, y.Resource) })
	return flush()
}
