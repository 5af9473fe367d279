package jobs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

func newSignalsCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "signals QUEUE",
		Short: "Show the rates of a queue, and how many slots it needs",
		Long: "Show the rates of a queue, and how many slots it needs: a row for the jobs that require the same\n" +
			"resources, with rates per second, averaged over a minute. want is how many slots keep --wait-target\n" +
			"of the queue for 95 % of the jobs at the present load, with a backlog that is gone after --max-wait.\n" +
			"An agent with the resources of several rows counts in each. An autoscaler can read it: -o json, or\n" +
			"JobService.GetSignals.",
		Example: "  weir queue signals images\n  weir queue signals images -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connect.WithAPI(a, func(client *api.Client) error { return signals(cmd.Context(), a, client, args[0]) })
		},
	}
}

// classRow is the jobs that require the same resources.
type classRow struct {
	Require  string  `json:"require"`
	Pending  int64   `json:"pending"`
	Running  int64   `json:"running"`
	Arrivals float64 `json:"arrivals_per_s"`
	Done     float64 `json:"done_per_s"`
	Failed   float64 `json:"failed_per_s"`
	MeanMs   float64 `json:"mean_ms"`
	OldestMs int64   `json:"oldest_wait_ms"`
	Agents   int32   `json:"agents"`
	Slots    int32   `json:"slots"`
	Want     int32   `json:"want_slots"`
	Starts   float64 `json:"starts_per_s" table:"wide"`
	Trend    float64 `json:"arrivals_per_s_10m" table:"wide"`
}

func signals(ctx context.Context, a *cli.App, client *api.Client, queue string) error {
	res, err := client.GetSignals(ctx, &jobpb.GetSignalsRequest{Queue: queue})
	if err != nil {
		return err
	}
	unread(a, queue, res)
	var rows []classRow
	for _, c := range res.GetClasses() {
		rows = append(rows, classRow{
			Require: strings.Join(c.GetRequire(), " "), Pending: c.GetPending(), Running: c.GetRunning(), Arrivals: round(c.GetArrivals()),
			Done: round(c.GetDone()), Failed: round(c.GetFailed()), MeanMs: round(c.GetMeanMs()), OldestMs: c.GetOldestMs(),
			Agents: c.GetAgents(), Slots: c.GetSlots(), Want: c.GetWant(), Starts: round(c.GetStarts()), Trend: round(c.GetTrend()),
		})
	}
	if n := len(res.GetAlarms()); n > 0 {
		a.Notef("%d alarms are not over: `weir queue alarms %s` shows them", n, queue)
	}
	if len(rows) == 0 {
		a.Notef("queue %s has no jobs, and had none in the last minutes", queue)
	}
	return cli.PrintRows(a, rows)
}

// unread notes the partitions that could not be read.
func unread(a *cli.App, queue string, res *jobpb.GetSignalsResponse) {
	if len(res.GetUnread()) > 0 {
		a.Notef("queue %s: partitions %v cannot be read now, and are not counted", queue, res.GetUnread())
	}
}

// round returns a number with three decimals.
func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }
