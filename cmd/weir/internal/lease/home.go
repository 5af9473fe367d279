package lease

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease/admin"
)

// newRegionHomeCmd returns `weir region home`.
func newRegionHomeCmd(a *cli.App) *cobra.Command {
	var since string
	var wait bool
	c := &cobra.Command{
		Use:   "home [NEW]",
		Short: "Show or move the home region, through which settings and new resources are written",
		Long: "Show the home region that the table names, and whether leases.home agrees. Settings and new\n" +
			"resources are written through the home region only.\n\n" +
			"With NEW, the command makes NEW the home. Through the old home it writes a fence into each row of\n" +
			"settings, so that no process can write settings there afterwards. The move takes a little more\n" +
			"than ten seconds and delays no lease. If it is interrupted, run it again: it completes the move.\n" +
			"Then set leases.home in all processes; a process with the old home gets an error when it writes\n" +
			"settings.\n\n" +
			"If the old home is lost, give --dead-since: your assertion that no agent, executor or command\n" +
			"has written through the old home since that time. The old home's write lease has to end first,\n" +
			"so that the region cannot return and write as the home.",
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
					return cli.UsageError("--dead-since needs the new home", "name it: weir region home NEW --dead-since "+since)
				}
				h, err := l.Home(cmd.Context())
				if err != nil {
					return connect.LeaseFailure("cannot show the home region", err)
				}
				return showHome(a, h)
			}
			move := admin.HomeMove{To: args[0], DeadSince: dead, Wait: func(d time.Duration) {
				a.Notef("waiting %s, until no process writes new resources through the old home", d.Round(time.Second))
			}}
			h, err := l.MoveHome(cmd.Context(), move)
			var early *admin.EarlyError
			if errors.As(err, &early) && wait {
				a.Notef("waiting: %v", early)
				if !pause.For(cmd.Context(), time.Until(early.Until)) {
					return connect.LeaseFailure("cannot move the home region", cmd.Context().Err())
				}
				h, err = l.MoveHome(cmd.Context(), move)
			}
			if err != nil {
				return connect.LeaseFailure("cannot move the home region", err)
			}
			return showHome(a, h)
		},
	}
	c.Flags().StringVar(&since, "dead-since", "",
		"time since which nothing was written through the old home, as RFC 3339; for an old home that is lost")
	c.Flags().BoolVar(&wait, "wait", false, "wait for the end of the old home's write lease, in place of an error with that time")
	connect.LeaseFlags(a, c.Flags())
	return c
}

func showHome(a *cli.App, h admin.HomeStatus) error {
	switch {
	case h.Home == "":
		a.Notef("no row names the home region yet: the first setting that is created names %s", h.Configured)
	case h.Moving:
		a.Notef("the move from %s is not complete: weir region home %s completes it", h.From, h.Home)
	case !h.Agrees:
		a.Notef("set leases.home to %s in all processes: here it is %s", h.Home, h.Configured)
	}
	return cli.PrintOne(a, h)
}

// deadSince parses --dead-since. An empty text is the zero time.
func deadSince(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && at.After(time.Now()) {
		err = errors.New("the time is in the future")
	}
	if err != nil {
		return at, cli.UsageError("--dead-since "+text+" is not a time in the past: "+err.Error(), "write it as 2026-01-31T12:00:00Z")
	}
	return at, nil
}
