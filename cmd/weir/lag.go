package main

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/processors/admin"
)

func newLagCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lag",
		Short: "Shows how far the spend counter is behind its inputs, by partition",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, k, err := a.cluster()
			if err != nil {
				return err
			}
			proc, err := spendRole(cfg).Processor()
			if err != nil {
				return err
			}
			rows, err := admin.Lag(cmd.Context(), k, proc.App, proc.Inputs)
			if err != nil {
				return fail(exitUnavailable, "cannot read the lag", err, "check --brokers; `weir doctor` looks closer")
			}
			return printRows(a, rows)
		},
	}
}
