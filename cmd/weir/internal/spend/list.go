package spend

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newSpendListCmd(a *cli.App) *cobra.Command {
	req := &weirpb.ListSpendRequest{}
	limit := 0
	var repeat bool
	var stale time.Duration
	c := &cobra.Command{
		Use:   "list --account ID",
		Short: "List the spend of an account: campaign days, or their sums",
		Long: "List the spend of an account at committed offsets: a row for each campaign, budget day and\n" +
			"currency, or with --by their sums. Currencies are never summed. -o csv writes a header, and a\n" +
			"line for each row. The row of day \"closed\" is the sum of the days before spend.retention, and\n" +
			"is not in a list with --from or --to. --by hour needs spend.hours; the row of hour \"other\"\n" +
			"has the rest of each sum. --by line-item and --by arm need spend.parts; the row without a name has\n" +
			"refunds, events without a name, and pairs beyond the number in spend.parts.",
		Example: "  weir spend list --account acme --by day --from 2013-11-01 --to today\n" +
			"  weir spend list --account acme -o csv --limit 100000 > acme.csv",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if limit < 1 {
				return cli.UsageError(fmt.Sprintf("--limit %d is not a positive number", limit), "use 1 or more")
			}
			if req.From, req.To, err = dayRange(req.From, req.To); err != nil {
				return err
			}
			if err := oneOf("--by", req.By, "day", "hour", "campaign", "account", "line-item", "arm"); err != nil {
				return err
			}
			if req.MaxStalenessMs, err = connect.StalenessMs(stale); err != nil {
				return err
			}
			first := req.PageToken
			return watch(cmd.Context(), a, repeat, func(ctx context.Context) error {
				req.PageToken = first
				return listSpend(ctx, a, req, limit)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&req.Account, "account", "", "account id")
	f.StringVar(&req.By, "by", "", "sum by day, hour, campaign, account, line-item or arm (default: no sums)")
	f.StringVar(&req.From, "from", "", "first budget day: "+dayHelp)
	f.StringVar(&req.To, "to", "", "last budget day: "+dayHelp)
	f.StringVar(&req.Currency, "currency", "", "currency (default: all)")
	f.IntVar(&limit, "limit", 100, "maximum number of rows")
	f.StringVar(&req.PageToken, "page", "", "token of the previous page, to continue after it")
	f.BoolVar(&repeat, "watch", false, watchHelp)
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	cli.Must(c.MarkFlagRequired("account"))
	return c
}

// listSpend prints limit rows, and the token of the next page.
func listSpend(ctx context.Context, a *cli.App, req *weirpb.ListSpendRequest, limit int) error {
	all := &weirpb.ListSpendResponse{}
	pages := connect.Pages[*weirpb.ListSpendResponse]{Noun: "rows", All: all, Limit: limit, Most: api.MaxPageKeys}
	pages.Next = func(c *api.Client, page int32) (int, string, error) {
		req.Limit = page
		res, err := c.ListSpend(ctx, req)
		if err != nil {
			return 0, "", err
		}
		all.Rows, all.AsOf = append(all.Rows, res.Rows...), res.AsOf
		all.NextPageToken, req.PageToken = res.NextPageToken, res.NextPageToken
		return len(res.Rows), res.NextPageToken, nil
	}
	return connect.PrintPages(a, pages, func(ask func(*api.Client) (*weirpb.ListSpendResponse, error)) error {
		switch req.By {
		case "hour":
			return connect.PrintList(a, ask, connect.List[*weirpb.ListSpendResponse, render.HourRow]{
				Doc: render.SpendHoursJSON, Table: table(a, render.SpendHoursTable), Rows: render.HourRows,
			})
		case "line-item":
			return connect.PrintList(a, ask, connect.List[*weirpb.ListSpendResponse, render.LineItemRow]{
				Doc: render.LineItemsJSON, Table: table(a, render.LineItemsTable), Rows: render.LineItemRows,
			})
		case "arm":
			return connect.PrintList(a, ask, connect.List[*weirpb.ListSpendResponse, render.ArmRow]{
				Doc: render.ArmsJSON, Table: table(a, render.ArmsTable), Rows: render.ArmRows,
			})
		default:
			return connect.PrintList(a, ask, connect.List[*weirpb.ListSpendResponse, render.SpendRow]{
				Doc: render.SpendListJSON, Table: table(a, render.SpendListTable), Rows: render.SpendRows,
			})
		}
	})
}

const dayHelp = "YYYY-MM-DD, today or yesterday (UTC)"

// dayOf returns a budget day of a flag in the form of the API.
func dayOf(text string) string {
	switch text {
	case "today":
		return time.Now().UTC().Format(time.DateOnly)
	case "yesterday":
		return time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return text
}
