package lease

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease/admin"
)

func newResourceDeleteCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	var file string
	var yes bool
	c := r.command("delete NAME...|--file FILE|--pool POOL", "Retire available resources",
		func(ctx context.Context, l *node.LeaseTable, names []string) error {
			switch {
			case len(names) > 0 && (file != "" || r.pool != ""), len(names) == 0 && file == "" && r.pool == "":
				return cli.UsageError("give either names, or --file or --pool",
					"--file - reads standard input; --file with --pool retires only resources of that pool")
			case len(names) > 0:
				return r.each(names, "cannot retire all resources",
					func(name string) (admin.Resource, error) { return l.Retire(ctx, r.client, name, r.dry) })
			}
			return r.retireAll(ctx, l, file, yes)
		})
	c.Args = cobra.ArbitraryArgs
	c.Long = "Retire available resources: they are not leased any more. Their rows stay in the table, because a\n" +
		"revived resource has to continue with its version, which is the token of its leases.\n" +
		"`weir resource update --revive` makes them available again.\n\n" +
		"--file retires the resource of each line of a file, --pool all resources of a pool; without --yes\n" +
		"--pool only counts them. Resources that are leased or in quarantine stay as they are: repeat the\n" +
		"command when their leases have ended. The exit code is 1 if resources are left."
	c.Flags().StringVar(&file, "file", "", "file with one resource per line; - reads standard input")
	c.Flags().StringVar(&r.pool, "pool", "", "pool whose resources are retired")
	c.Flags().BoolVar(&yes, "yes", false, "with --pool and without --file: retire the resources; without it they are only counted")
	dryRun(c.Flags(), &r.dry)
	return c
}

// retireAll retires the resources of a file or of a pool, and prints their numbers.
func (r *resources) retireAll(ctx context.Context, l *node.LeaseTable, file string, yes bool) error {
	failed := 0
	o := admin.Retirement{Client: r.client, Pool: r.pool, Dry: r.dry || file == "" && !yes, Failed: func(_ string, why error) {
		if failed++; failed <= shownRejects {
			r.a.Notef("%v", why)
		}
	}}
	if file != "" {
		in := r.a.Stdin
		if file != "-" {
			opened, err := openInput(file)
			if err != nil {
				return err
			}
			defer func() { _ = opened.Close() }()
			in = opened
		}
		o.Names = func(yield func(string) error) error {
			return admin.EachLine(in, func(_ int64, name string) error {
				if name == "" {
					return nil
				}
				return yield(name)
			})
		}
	}
	sum, err := l.RetireAll(ctx, o)
	if failed > shownRejects {
		r.a.Notef("and %d more", failed-shownRejects)
	}
	if o.Dry {
		r.a.Notef("%d resources would be retired; nothing is changed: repeat the command with --yes and without --dry-run", sum.Retired)
	}
	if err := cli.PrintOne(r.a, sum); err != nil {
		return err
	}
	if err == nil && failed > 0 && !o.Dry {
		return cli.Fail(cli.ExitFailed, "not all resources are retired", fmt.Errorf("%d are in use, %d failed", sum.InUse, sum.Failed),
			"repeat the command when their leases have ended; `weir lease release` ends them earlier")
	}
	return connect.LeaseFailure("cannot retire all resources", err)
}
