package pacing

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newStatusCmd(a *cli.App) *cobra.Command {
	var stale time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show whether each shard of the accounts is paced, and what its campaigns do",
		Long: "Show a line for each shard of the accounts: the process that paces it, its campaigns by reason, and\n" +
			"the age of its oldest parameters, which is at most about a minute while a controller runs. Campaigns\n" +
			"that take part in auctions are open. The column problem has the worst that is known of the shard.",
		Example: "  weir pacing status\n  weir pacing status -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ms, err := connect.StalenessMs(stale)
			if err != nil {
				return err
			}
			client, err := connect.APIClient(a)
			if err != nil {
				return err
			}
			defer client.Close()
			res, err := client.GetPacingStatus(cmd.Context(), &weirpb.GetPacingStatusRequest{MaxStalenessMs: ms})
			if err != nil {
				return err
			}
			rows := render.PacingShardRows(res)
			if err := cli.PrintRows(a, rows); err != nil {
				return err
			}
			a.Notef("%s", render.PacingSummary(rows))
			return nil
		},
	}
	c.Flags().DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	return c
}
