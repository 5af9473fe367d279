package spend

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newSpendDatasetsCmd(a *cli.App) *cobra.Command {
	req := &weirpb.ListDatasetsRequest{}
	var shards, repeat bool
	c := &cobra.Command{
		Use:   "datasets",
		Short: "Show the datasets of this datacentre, how healthy they are, and which one is used",
		Long: "Show the datasets that the spend cache reads: the spend that the counter of this datacentre has\n" +
			"counted, and those of the counters that push into this one. For each shard of the accounts the\n" +
			"cache uses the healthiest one: the own one, unless it lags, lacks events or has no recent health.\n\n" +
			"A row is a dataset. age is the greatest age of its health rows, lag how far its newest event is\n" +
			"behind that of the newest dataset, lacks_percent the part of the events of the last 60 seconds that\n" +
			"it lacks. \"no event of X\" in place of the lag: another dataset has events of datacentre X.\n" +
			"--shards shows each shard, --account that of an account. --campaign shows what each dataset has of\n" +
			"a campaign of the account, without closed days.",
		Example: "  weir spend datasets\n  weir spend datasets --account acme\n" +
			"  weir spend datasets --account acme --campaign spring\n  weir spend datasets --shards -o csv",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case req.GetCampaign() != "" && req.GetAccount() == "":
				return cli.UsageError("--campaign needs --account", "name the account of the campaign")
			case req.GetCampaign() != "" && shards:
				return cli.UsageError("--shards does not go with --campaign", "leave out --shards: an account is in one shard")
			}
			return watch(cmd.Context(), a, repeat, func(ctx context.Context) error {
				client, err := connect.APIClient(a)
				if err != nil {
					return err
				}
				defer client.Close()
				res, err := client.ListDatasets(ctx, req)
				if err != nil {
					return err
				}
				noteModes(a, res.GetShards())
				notePacing(a, res.GetShards())
				switch {
				case req.GetCampaign() != "":
					noteUnread(a, res.GetShards(), req.GetCampaign())
					return cli.PrintRows(a, render.DatasetSpendRows(res.GetShards()))
				case shards || req.GetAccount() != "":
					return cli.PrintRows(a, render.ShardDatasetRows(res.GetShards()))
				}
				return cli.PrintRows(a, render.DatasetRows(res.GetShards()))
			})
		},
	}
	c.Flags().StringVar(&req.Account, "account", "", "account id: only its shard, with a row for each dataset")
	c.Flags().StringVar(&req.Campaign, "campaign", "", "campaign id, with --account: a row for each dataset and day")
	c.Flags().BoolVar(&shards, "shards", false, "a row for each shard and dataset")
	c.Flags().BoolVar(&repeat, "watch", false, watchHelp)
	return c
}

// noteModes reports shards of which no dataset is used.
func noteModes(a *cli.App, shards []*weirpb.ShardDatasets) {
	count, why := map[string]int{}, map[string]string{}
	for _, s := range shards {
		c := s.GetChoice()
		if count[c.GetMode()]++; count[c.GetMode()] == 1 {
			why[c.GetMode()] = c.GetReason()
		}
	}
	for _, mode := range []string{"degraded", "fail_safe"} {
		if n := count[mode]; n > 0 {
			a.Notef("%d of %d shards are %s: %s", n, len(shards), mode, why[mode])
		}
	}
	if len(shards) == 0 {
		a.Notef("the spend cache has just started, and has not evaluated the datasets yet")
	}
}

// notePacing reports shards whose accounts have the parameters of another datacentre, or those that
// an operator has decided on.
func notePacing(a *cli.App, shards []*weirpb.ShardDatasets) {
	count, why := map[string]int{}, map[string]string{}
	for _, s := range shards {
		// The first dataset is that of the cache's own datacentre.
		dc, own := s.GetPacingDc(), s.GetDatasets()
		if dc == "" || len(own) == 0 || dc == own[0].GetDc() && !s.GetPacingOverride() {
			continue
		}
		if count[dc]++; s.GetPacingOverride() {
			why[dc] = "an override decides it"
		} else if why[dc] == "" {
			why[dc] = "no process paces them in " + own[0].GetDc()
		}
	}
	for _, dc := range slices.Sorted(maps.Keys(count)) {
		a.Notef("the accounts of %d of %d shards have the parameters of %s: %s", count[dc], len(shards), dc, why[dc])
	}
}

// noteUnread reports datasets that have no row of a campaign, or cannot be read.
func noteUnread(a *cli.App, shards []*weirpb.ShardDatasets, campaign string) {
	for _, s := range shards {
		for _, d := range s.GetDatasets() {
			switch {
			case d.GetUnread() != "":
				a.Notef("the dataset of %s cannot be read now: %s", d.GetDc(), d.GetUnread())
			case len(d.GetRows()) == 0:
				a.Notef("the dataset of %s has no row of campaign %q", d.GetDc(), campaign)
			}
		}
	}
}
