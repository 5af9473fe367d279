package lease

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/pause"
)

// newRegionHomeCmd returns `weir region home`.
func newRegionHomeCmd(a *cli.App) *cobra.Command {
	var since string
	var wait bool
	c := &cobra.Command{
		Use:   "home [NEW]",
		Short: "Shows the region that keeps the settings, or makes another one that",
		Long: "Shows the region that settings and new resources are written through, as the table says it, and whether leases.home agrees. With\n" +
			"NEW it makes that the home: a fence goes through the old one, row by row, after which nobody writes settings there. It takes ten\n" +
			"seconds and a little more; no lease is held up. It can be run again at any time, and ends what was interrupted. Then set leases.home\n" +
			"everywhere: whoever still has the old one is refused.\n" +
			"If the old home is lost, --dead-since is your word that nothing is written through it any more, by agents, executors or commands;\n" +
			"its region lease has to pass since, lest it be back and not know.",
		Example: "  weir region home\n  weir region home us-east-1 --dead-since 2026-01-31T12:00:00Z --wait",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dead, err := deadSince(since)
			if err != nil {
				return err
			}
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if since != "" {
					return cli.UsageError("--dead-since goes with a new home", "name it: weir region home NEW --dead-since "+since)
				}
				h, err := l.Home(cmd.Context())
				if err != nil {
					return connect.LeaseFailure("cannot show the home", err)
				}
				return showHome(a, h)
			}
			move := admin.HomeMove{To: args[0], DeadSince: dead, Wait: func(d time.Duration) {
				a.Notef("waiting %s until nobody puts anything in by way of the old one", d.Round(time.Second))
			}}
			h, err := l.MoveHome(cmd.Context(), move)
			var early *admin.EarlyError
			if errors.As(err, &early) && wait {
				a.Notef("%v: waiting", early)
				if !pause.For(cmd.Context(), time.Until(early.Until)) {
					return connect.LeaseFailure("cannot move the home", cmd.Context().Err())
				}
				h, err = l.MoveHome(cmd.Context(), move)
			}
			if err != nil {
				return connect.LeaseFailure("cannot move the home", err)
			}
			return showHome(a, h)
		},
	}
	c.Flags().StringVar(&since, "dead-since", "", "time since when nothing was written through the old home, for certain: it is lost")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the lost home's region lease has passed, instead of saying when that is")
	connect.LeaseFlags(a, c.Flags())
	return c
}

func showHome(a *cli.App, h admin.Home) error {
	switch {
	case h.Home == "":
		a.Notef("no row says yet which region is the home: the first setting that is made says %s", h.Configured)
	case h.Moving:
		a.Notef("it is on its way from %s: weir region home %s ends that", h.From, h.Home)
	case !h.Agrees:
		a.Notef("set leases.home to %s everywhere: here it is %s", h.Home, h.Configured)
	}
	return cli.PrintOne(a, h)
}

// deadSince reads the flag; empty is no time.
func deadSince(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && at.After(time.Now()) {
		err = errors.New("it is in the future")
	}
	if err != nil {
		return at, cli.UsageError("--dead-since "+text+" is no time that has been", "write it as 2026-01-31T12:00:00Z")
	}
	return at, nil
}
