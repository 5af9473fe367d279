package spend

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// Commands returns `weir spend`, `weir ingest` and `weir adjust`.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newSpendCmd(a), newIngestCmd(a), newAdjustCmd(a)}
}

func newSpendCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "spend", Short: "Show the spend of campaigns, and the health of the spend counter"}
	c.AddCommand(newSpendShowCmd(a), newSpendListCmd(a), newSpendTopCmd(a), newSpendHealthCmd(a))
	c.AddCommand(newSpendAccountCmd(a), newSpendDatasetsCmd(a), newSpendAuditCmd(a), newSpendReconcileCmd(a), newSpendBilledCmd(a))
	return c
}

func newSpendShowCmd(a *cli.App) *cobra.Command {
	req := &weirpb.GetSpendRequest{}
	var stale time.Duration
	var repeat bool
	c := &cobra.Command{
		Use:   "show --campaign ID",
		Short: "Show the spend of a campaign, at committed offsets",
		Example: "  weir spend show --campaign 1458 --day 2013-06-06 --wait -o json\n" +
			"  weir spend show --campaign 1458 --watch",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.Day, err = dayFlag("--day", req.Day); err != nil {
				return err
			}
			if req.MaxStalenessMs, err = connect.StalenessMs(stale); err != nil {
				return err
			}
			if repeat {
				return watchCampaign(cmd.Context(), a, req)
			}
			ask := func(c *api.Client) (*weirpb.GetSpendResponse, error) { return c.GetSpend(cmd.Context(), req) }
			return connect.PrintAnswer(a, ask, render.SpendJSON, table(a, render.SpendTable))
		},
	}
	c.Flags().StringVar(&req.Campaign, "campaign", "", "campaign id")
	c.Flags().StringVar(&req.Account, "account", "", "account id (default: the only account that has the campaign)")
	c.Flags().StringVar(&req.Day, "day", "", "budget day: "+dayHelp+" (default: all days)")
	c.Flags().StringVar(&req.Currency, "currency", "", "currency (default: the only currency of the campaign)")
	c.Flags().BoolVar(&req.Wait, "wait", false, "wait until all events produced before this call are counted")
	c.Flags().BoolVar(&repeat, "watch", false, "show the spend again after each commit that changes it, until interrupted")
	c.Flags().DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	cli.Must(c.MarkFlagRequired("campaign"))
	return c
}

// table returns a table with the time of its figures; of -o wide, with their offsets, too.
func table[R any](a *cli.App, of func(R, render.AsOfFormat) string) func(R) string {
	return func(res R) string {
		return of(res, render.AsOfFormat{Now: time.Now(), Wide: a.Format == cli.FormatWide})
	}
}

func newSpendHealthCmd(a *cli.App) *cobra.Command {
	origins := false
	c := &cobra.Command{
		Use:   "health",
		Short: "Show the latest health record of each shard: progress, and events of the last 60 seconds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask := func(c *api.Client) (*weirpb.ListHealthResponse, error) { return c.ListHealth(cmd.Context()) }
			text := render.HealthTable
			if origins {
				text = render.OriginsTable
			}
			return connect.PrintAnswer(a, ask, render.HealthJSON, text)
		},
	}
	c.Flags().BoolVar(&origins, "origins", false, "one line for each shard and each datacentre whose events it counts (JSON has both)")
	return c
}
