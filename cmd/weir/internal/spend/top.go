package spend

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newSpendTopCmd(a *cli.App) *cobra.Command {
	req := &weirpb.TopSpendRequest{}
	var n int
	var day, from, to string
	var repeat bool
	var stale time.Duration
	c := &cobra.Command{
		Use:   "top",
		Short: "Show the campaigns with the greatest charges, or with most events, of one or more budget days",
		Long: "Show the campaigns with the greatest charges, or with most events, of one or more budget days, at\n" +
			"committed offsets. Each currency has a ranking of its own, because currencies cannot be compared.\n" +
			"The counter keeps rankings of each day. For several days (--from and --to) it reads and sums\n" +
			"all campaign days, with --account only those of the account. Days before spend.retention are not\n" +
			"included.",
		Example: "  weir spend top -n 20\n" +
			"  weir spend top --from 2013-11-01 --to today\n" +
			"  weir spend top --by events --day 2013-11-09 --account acme -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if n < 1 || n > api.MaxTop {
				return cli.UsageError(fmt.Sprintf("-n %d is out of range", n),
					fmt.Sprintf("use 1 to %d; `weir spend list` lists all campaigns of an account", api.MaxTop))
			}
			if err := checkTop(req.By, day, from, to); err != nil {
				return err
			}
			if req.MaxStalenessMs, err = connect.StalenessMs(stale); err != nil {
				return err
			}
			req.Limit = int32(min(n, math.MaxInt32))
			return watch(cmd.Context(), a, repeat, func(ctx context.Context) error {
				if req.From, req.To = dayOf(from), dayOf(to); req.From == "" && req.To == "" {
					req.Day = dayOf(day)
				}
				ask := func(c *api.Client) (*weirpb.TopSpendResponse, error) { return c.TopSpend(ctx, req) }
				return connect.PrintList(a, ask, connect.List[*weirpb.TopSpendResponse, render.TopRow]{
					Doc: render.SpendTopJSON, Table: table(a, render.SpendTopTable), Rows: render.TopRows,
				})
			})
		},
	}
	f := c.Flags()
	f.IntVarP(&n, "number", "n", 20, fmt.Sprintf("number of campaigns of each currency, at most %d", api.MaxTop))
	f.StringVar(&req.By, "by", "charged", "order: charged or events")
	f.StringVar(&day, "day", "today", "budget day: "+dayHelp)
	f.StringVar(&from, "from", "", "first budget day, in place of --day: "+dayHelp)
	f.StringVar(&to, "to", "", "last budget day, in place of --day: "+dayHelp)
	f.StringVar(&req.Account, "account", "", "account id (default: all)")
	f.StringVar(&req.Currency, "currency", "", "currency (default: all)")
	f.BoolVar(&repeat, "watch", false, watchHelp)
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	c.MarkFlagsMutuallyExclusive("day", "from")
	c.MarkFlagsMutuallyExclusive("day", "to")
	return c
}

// checkTop checks the flags of a ranking before a server is asked. With --watch their days are
// computed again for each answer.
func checkTop(by, day, from, to string) error {
	if err := oneOf("--by", by, "charged", "events"); err != nil {
		return err
	}
	if _, err := dayFlag("--day", day); err != nil {
		return err
	}
	_, _, err := dayRange(from, to)
	return err
}
