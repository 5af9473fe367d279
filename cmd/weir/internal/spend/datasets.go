package spend

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// datasetRow is a dataset, over all shards.
type datasetRow struct {
	Dataset    string   `json:"dataset"`
	Chosen     int      `json:"chosen"`  // shards that use it
	Healthy    int      `json:"healthy"` // shards in which it is healthy
	Shards     int      `json:"shards"`
	AgeSeconds *float64 `json:"age_seconds,omitempty"` // greatest; nil: no shard has a health row
	LagSeconds float64  `json:"lag_seconds"`           // greatest
	Lacks      float64  `json:"lacks_percent"`         // greatest
	Last60s    uint64   `json:"last_60s"`
	Lost       uint64   `json:"lost"`
	Reason     string   `json:"reason"` // why it is not healthy in the first such shard, or why it is used
}

// shardRow is a dataset of a shard.
type shardRow struct {
	Shard      int32    `json:"shard"`
	Dataset    string   `json:"dataset"`
	Chosen     bool     `json:"chosen"`
	Healthy    bool     `json:"healthy"`
	AgeSeconds *float64 `json:"age_seconds,omitempty"`
	LagSeconds float64  `json:"lag_seconds"`
	LagOrigin  string   `json:"lag_origin" table:"wide"`
	Lacks      float64  `json:"lacks_percent"`
	Last60s    uint64   `json:"last_60s"`
	Lost       uint64   `json:"lost"`
	Reason     string   `json:"reason"`
}

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
			"it lacks. --shards shows each shard, --account that of an account.",
		Example: "  weir spend datasets\n  weir spend datasets --account acme\n  weir spend datasets --shards -o csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
				if shards || req.GetAccount() != "" {
					return cli.PrintRows(a, shardRows(res.GetShards()))
				}
				return cli.PrintRows(a, datasetRows(res.GetShards()))
			})
		},
	}
	c.Flags().StringVar(&req.Account, "account", "", "account id: only its shard, with a row for each dataset")
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

func datasetRows(shards []*weirpb.ShardDatasets) []datasetRow {
	var rows []datasetRow
	for n, s := range shards {
		for i, d := range s.GetDatasets() {
			if n == 0 {
				rows = append(rows, datasetRow{Dataset: d.GetDc()})
			}
			r := &rows[i]
			r.Shards++
			if d.GetChosen() {
				r.Chosen++
			}
			if d.GetHealthy() {
				r.Healthy++
			} else if r.Healthy == r.Shards-1 { // the first one
				r.Reason = d.GetProblem()
			}
			r.AgeSeconds = greater(r.AgeSeconds, seconds(d.GetAgeMs()))
			r.LagSeconds, r.Lacks = max(r.LagSeconds, tenths(d.GetLagMs())), max(r.Lacks, percent(d.GetDeficit()))
			r.Last60s, r.Lost = r.Last60s+d.GetCount_60S(), r.Lost+d.GetLost()
			if d.GetChosen() && r.Reason == "" && r.Chosen == 1 {
				r.Reason = s.GetChoice().GetReason()
			}
		}
	}
	return rows
}

func shardRows(shards []*weirpb.ShardDatasets) (rows []shardRow) {
	for _, s := range shards {
		for _, d := range s.GetDatasets() {
			r := shardRow{
				Shard: s.GetChoice().GetShard(), Dataset: d.GetDc(), Chosen: d.GetChosen(), Healthy: d.GetHealthy(),
				AgeSeconds: seconds(d.GetAgeMs()), LagSeconds: tenths(d.GetLagMs()), LagOrigin: d.GetLagOrigin(),
				Lacks: percent(d.GetDeficit()), Last60s: d.GetCount_60S(), Lost: d.GetLost(), Reason: d.GetProblem(),
			}
			if d.GetChosen() {
				r.Reason = s.GetChoice().GetReason()
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// seconds returns milliseconds as seconds; nil if they are not known.
func seconds(ms int64) *float64 {
	if ms < 0 {
		return nil
	}
	s := tenths(ms)
	return &s
}

func greater(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func tenths(ms int64) float64 { return math.Round(float64(ms)/100) / 10 }

func percent(part float64) float64 { return math.Round(part*1000) / 10 }
