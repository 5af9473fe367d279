package spend

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newSpendAccountCmd(a *cli.App) *cobra.Command {
	req := &weirpb.GetAccountRequest{}
	c := &cobra.Command{
		Use:   "account --account ID",
		Short: "Show the spend of an account as ad servers get it: from the healthiest dataset",
		Long: "Show the spend of an account as the spend cache serves it to ad servers: the campaign days since\n" +
			"yesterday (UTC), from the dataset that is used for the shard of the account, with its age and why\n" +
			"it is used. The figures are at most some seconds old. `weir spend list` reads the counter of this\n" +
			"datacentre itself, and all days.",
		Example: "  weir spend account --account acme\n  weir spend account --account acme --campaign spring --from 2026-11-01 --parts -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.From, err = dayFlag("--from", req.From); err != nil {
				return err
			}
			ask := func(c *api.Client) (*weirpb.GetAccountResponse, error) { return c.GetAccount(cmd.Context(), req) }
			return connect.PrintAnswer(a, ask, render.AccountJSON, render.AccountTable)
		},
	}
	f := c.Flags()
	f.StringVar(&req.Account, "account", "", "account id")
	f.StringSliceVar(&req.Campaigns, "campaign", nil, "campaign ids (default: all)")
	f.StringVar(&req.From, "from", "", "first budget day: "+dayHelp+" (default: yesterday in UTC)")
	f.BoolVar(&req.Parts, "parts", false, "also show the spend by line item and arm (needs spend.parts)")
	cli.Must(c.MarkFlagRequired("account"))
	return c
}
