package spend

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/billing"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// billedFilter chooses documents of spend.billed.
type billedFilter struct {
	account, campaign, day string
	accounts               bool
}

func (f *billedFilter) match(d *billing.Document) bool {
	return (d.Campaign == "") == f.accounts && (f.account == "" || d.Account == f.account) &&
		(f.campaign == "" || d.Campaign == f.campaign) && (f.day == "" || d.BudgetDay == f.day)
}

func newSpendBilledCmd(a *cli.App) *cobra.Command {
	var since time.Duration
	f := &billedFilter{}
	c := &cobra.Command{
		Use:   "billed",
		Short: "List what of the spend of budget days is billed: no more than the budgets allow",
		Long: "List what of the spend of budget days is billed, from the topic spend.billed of this datacentre.\n\n" +
			"The role pacing bills a day spend.bill_after after its end. Of a campaign it bills what was spent,\n" +
			"or what its budget allowed on the day if that is less. If the campaigns below a shared budget have\n" +
			"spent more than it allowed, each of them is billed less, in proportion. The rest is overdelivered.\n" +
			"docs/pacing.md describes it.",
		Example: "  weir spend billed --day 2026-11-27 -o csv\n" +
			"  weir spend billed --account acme --accounts --since 720h",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			from := time.Now().Add(-since)
			if f.day, err = dayFlag("--day", f.day); err != nil {
				return err
			}
			if f.day != "" && !cmd.Flags().Changed("since") { // a day is billed after its end
				if from, err = time.Parse(time.DateOnly, f.day); err != nil {
					return err
				}
			}
			if since <= 0 {
				return cli.UsageError(fmt.Sprintf("--since %s is out of range", since), "use a time above 0, such as 168h")
			}
			if f.accounts && f.campaign != "" {
				return cli.UsageError("--accounts lists accounts, and --campaign campaigns", "leave one of them out")
			}
			cfg, k, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			read := connect.Documents[billing.Document]{App: a, Decode: billing.Decode, Keep: f.match}
			layout := node.Pacing(cfg).Layout
			of := kafkaadmin.TopicRange{Topic: layout.Name(events.SpendBilledTopic), Since: from}
			if f.account != "" {
				of.Partitions = []int32{events.Shard(f.account, layout.Partitions())}
			}
			rows, err := read.Read(cmd.Context(), k, of)
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read what is billed", err,
					"check kafka.brokers; `weir topics apply --for spend` creates the topic")
			}
			slices.SortStableFunc(rows, func(x, y billing.Document) int {
				return cmp.Or(cmp.Compare(x.BudgetDay, y.BudgetDay), cmp.Compare(x.Account, y.Account))
			})
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().StringVar(&f.account, "account", "", "account id (default: all accounts)")
	c.Flags().StringVar(&f.campaign, "campaign", "", "campaign id (default: all campaigns)")
	c.Flags().StringVar(&f.day, "day", "", "budget day: "+dayHelp+" (default: all days)")
	c.Flags().BoolVar(&f.accounts, "accounts", false, "list the sums of accounts, in place of campaigns")
	c.Flags().DurationVar(&since, "since", 168*time.Hour,
		"how long ago days were billed, at most; with --day all of them, unless it is given")
	return c
}
