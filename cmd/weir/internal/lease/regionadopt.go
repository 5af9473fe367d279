package lease

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/pause"
)

// newRegionAdoptCmd returns `weir region adopt`.
func newRegionAdoptCmd(a *cli.App) *cobra.Command {
	var o admin.Adoption
	var since string
	var undo, wait bool
	c := &cobra.Command{
		Use:   "adopt NAME --by REGION",
		Short: "Gives the resources of a region that is cut off or gone to another",
		Long: "Gives the resources of a region that is cut off or gone to another. First its agents must have stopped: they do so when its\n" +
			"region lease is over, which no region extends from now on: so all others have to answer. Else, and for a region without region\n" +
			"lease or that was the home, --dead-since is your word for it; what other regions have said of it holds to its end all the same.\n" +
			"Then each resource goes to the other region, which leases it after the longest lease that its pool ever allowed and a quarantine\n" +
			"on top: what the lost region leased last, nobody knows.\n" +
			"If the home is lost, another must be made the home first: `weir region home`.\n" +
			"It can be run again at any time, and must be where it says that some are left. --undo takes the region in again.",
		Example: "  weir region update us-east-1 --write-lease 15m   (long before)\n  weir region adopt us-east-1 --by us-west-2 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Region = args[0]
			var err error
			if o.DeadSince, err = deadSince(since); err != nil {
				return err
			}
			if !undo && o.By == "" {
				return cli.UsageError("it is not said which region adopts", "give --by")
			}
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			if undo {
				r, err := l.Readmit(cmd.Context(), o.Region)
				if err != nil {
					return connect.LeaseFailure("cannot take the region in again", err)
				}
				return cli.PrintOne(a, r)
			}
			return adoption{a, l, wait}.run(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.By, "by", "", "region that adopts")
	f.StringVar(&since, "dead-since", "", "time since when nothing was written through the region, for certain")
	f.IntVar(&o.Rate, "rate", 0, "rows a second at most (default: what the table takes)")
	f.BoolVar(&wait, "wait", false, "wait until the region's lease is over, instead of saying when that is")
	f.BoolVar(&undo, "undo", false, "take the region in again; what it had stays where it is")
	connect.LeaseFlags(a, f)
	return c
}

// adoption adopts a region; with wait it waits until the region's write lease has expired.
type adoption struct {
	a    *cli.App
	l    *node.LeaseTable
	wait bool
}

func (d adoption) run(ctx context.Context, o admin.Adoption) error {
	o.Progress = func(n admin.AdoptionProgress) { d.a.Notef("%d adopted", n.Adopted) }
	done, err := d.l.Adopt(ctx, o)
	var early *admin.EarlyError
	if errors.As(err, &early) && d.wait {
		d.a.Notef("%v: waiting", early)
		if !pause.For(ctx, time.Until(early.Until)) {
			return connect.LeaseFailure("cannot adopt the region", ctx.Err())
		}
		done, err = d.l.Adopt(ctx, o)
	}
	if err != nil {
		return connect.LeaseFailure("cannot adopt the region", err)
	}
	return cli.PrintOne(d.a, done)
}
