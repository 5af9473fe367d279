package pacing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/cmd/weir/internal/notify"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing/alert"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func newAlertsCmd(a *cli.App) *cobra.Command {
	var since time.Duration
	var account string
	c := &cobra.Command{
		Use:   "alerts",
		Short: "List alerts of budgets: 50, 80 and 100 % are spent, or the budget runs out early",
		Long: "List the alerts of budgets from the topic of alerts, the oldest first.\n\n" +
			"There is one for each campaign, shared budget and day when 50, 80 and 100 % of the budget of the\n" +
			"day are spent, and again after an increase of the budget. percent 0 is a budget that is expected\n" +
			"to run out more than two hours before the day ends, for an hour already: then ad\n" +
			"servers do not follow its parameters. runs_out is when the rest is spent, at its mean rate.\n" +
			"`weir pacing notify` sends alerts to a webhook.",
		Example: "  weir pacing alerts --since 2h\n" +
			"  weir pacing alerts --account acme -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since <= 0 {
				return cli.UsageError(fmt.Sprintf("--since %s is out of range", since), "use a time above 0, such as 24h")
			}
			cfg, k, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			read := connect.Documents[alert.Document]{App: a, Decode: alert.Decode, Keep: func(d *alert.Document) bool {
				return account == "" || d.Account == account
			}}
			rows, err := read.Read(cmd.Context(), k, kafkaadmin.TopicRange{Topic: alertsTopic(cfg), Since: time.Now().Add(-since)})
			if err != nil {
				return alertsFailure(err)
			}
			slices.SortStableFunc(rows, func(x, y alert.Document) int { return strings.Compare(x.At, y.At) })
			return cli.PrintRows(a, rows)
		},
	}
	f := c.Flags()
	f.DurationVar(&since, "since", 24*time.Hour, "maximum age of the alerts")
	f.StringVar(&account, "account", "", "account id (default: all accounts)")
	return c
}

func alertsTopic(c *config.Config) string {
	return node.Pacing(c).Layout.Name(events.PacingAlertsTopic)
}

// alertTopic is the topic of alerts for `weir pacing notify`.
func alertTopic() notify.Topic {
	return notify.Topic{
		Name: alertsTopic, Group: "pacing.notify", What: "alert of a budget", URL: "https://hooks.example.com/budgets",
		Failure: alertsFailure,
		Decode: func(r *stream.SinkRecord) (notify.Alert, error) {
			d, err := alert.Decode(r.Value)
			if err != nil {
				return notify.Alert{}, err
			}
			return notify.Alert{ID: d.ID, Document: d}, nil
		},
	}
}

func alertsFailure(err error) error {
	return cli.Fail(cli.ExitUnavailable, "cannot read the alerts", err,
		"check kafka.brokers; `weir topics apply --for spend` creates the topic of alerts")
}
