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

func newAdjustListCmd(a *cli.App) *cobra.Command {
	req := &weirpb.ListAdjustmentsRequest{}
	limit := 0
	var stale time.Duration
	c := &cobra.Command{
		Use:   "list --account ID",
		Short: "List the adjustments of an account that were applied",
		Long: "List the adjustments of an account that were applied, by reference.\n\n" +
			"duplicates: further adjustments with the same reference, which were not applied.\n" +
			"conflicts: duplicates with another amount, campaign day or datacentre.\n" +
			"over-refunded: the refunds of the campaign day exceed its charges.",
		Example: "  weir adjust list --account acme --wait\n" +
			"  weir adjust list --account acme --limit 1000 -o csv",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if limit < 1 {
				return cli.UsageError(fmt.Sprintf("--limit %d is not a positive number", limit), "use 1 or more")
			}
			if req.MaxStalenessMs, err = connect.StalenessMs(stale); err != nil {
				return err
			}
			return listAdjustments(cmd.Context(), a, req, limit)
		},
	}
	f := c.Flags()
	f.StringVar(&req.Account, "account", "", "account id")
	f.BoolVar(&req.Wait, "wait", false, "wait until everything produced before this call is applied")
	f.IntVar(&limit, "limit", 100, "maximum number of adjustments")
	f.StringVar(&req.PageToken, "page", "", "token of the previous page, to continue after it")
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	cli.Must(c.MarkFlagRequired("account"))
	return c
}

// listAdjustments prints limit adjustments, and the token of the next page.
func listAdjustments(ctx context.Context, a *cli.App, req *weirpb.ListAdjustmentsRequest, limit int) error {
	all := &weirpb.ListAdjustmentsResponse{}
	pages := connect.Pages[*weirpb.ListAdjustmentsResponse]{Noun: "adjustments", All: all, Limit: limit, Most: api.MaxAdjustments}
	pages.Next = func(c *api.Client, page int32) (int, string, error) {
		req.Limit = page
		res, err := c.ListAdjustments(ctx, req)
		if err != nil {
			return 0, "", err
		}
		req.Wait = false // the first page has waited
		all.Adjustments, all.AsOf = append(all.Adjustments, res.Adjustments...), res.AsOf
		all.NextPageToken, req.PageToken = res.NextPageToken, res.NextPageToken
		return len(res.Adjustments), res.NextPageToken, nil
	}
	return connect.PrintPages(a, pages, func(ask func(*api.Client) (*weirpb.ListAdjustmentsResponse, error)) error {
		return connect.PrintList(a, ask, connect.List[*weirpb.ListAdjustmentsResponse, render.Adjustment]{
			Doc: render.AdjustmentsJSON, Table: table(a, render.AdjustmentsTable), Rows: render.Adjustments,
		})
	})
}
