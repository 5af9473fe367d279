// Package pacing has the commands about the pacing of budgets: weir pacing simulate and backtest.
package pacing

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// Commands returns `weir pacing`.
func Commands(a *cli.App) []*cobra.Command {
	c := &cobra.Command{Use: "pacing", Short: "Compare controllers that spread budgets over the day"}
	c.AddCommand(newSimulateCmd(a), newBacktestCmd(a))
	return []*cobra.Command{c}
}
