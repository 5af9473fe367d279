// Package pacing has the commands about the pacing of budgets: weir pacing show, history, status,
// override, alerts, notify, simulate and backtest.
package pacing

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/notify"
)

// Commands returns `weir pacing`.
func Commands(a *cli.App) []*cobra.Command {
	c := &cobra.Command{Use: "pacing", Short: "Show how campaigns are paced, and compare controllers that spread budgets"}
	c.AddCommand(newShowCmd(a), newHistoryCmd(a), newStatusCmd(a), newOverrideCmd(a), newAlertsCmd(a),
		notify.Command(a, "pacing", alertTopic()), newSimulateCmd(a), newBacktestCmd(a))
	return []*cobra.Command{c}
}
