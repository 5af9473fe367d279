package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/dev"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/cmd/weir/internal/ops"
	"github.com/weirhq/weir/cmd/weir/internal/spend"
	"github.com/weirhq/weir/cmd/weir/internal/state"
	"github.com/weirhq/weir/cmd/weir/internal/topics"
	"github.com/weirhq/weir/internal/buildinfo"
)

// commands returns every command below the root.
func commands(a *cli.App) []*cobra.Command {
	return slices.Concat(dev.Commands(a), ops.Commands(a), spend.Commands(a), state.Commands(a), topics.Commands(a), lease.Commands(a))
}

// newRoot returns the command tree.
func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Exactly-once stream processing on Kafka: ad spend and resource leases",
		Long: "weir processes events from Kafka exactly once. It counts the spend of ad campaigns, and leases\n" +
			"resources in several regions over DynamoDB.\n\n" +
			"`weir dev` runs everything in one process. `weir run` runs roles against your own cluster.",
		Version: buildinfo.Read().Version,
	}
	a.SetUp(root)
	root.AddCommand(commands(a)...)
	return root
}
