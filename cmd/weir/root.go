package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/budget"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/dev"
	"github.com/weirhq/weir/cmd/weir/internal/jobs"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/cmd/weir/internal/mirror"
	"github.com/weirhq/weir/cmd/weir/internal/ops"
	"github.com/weirhq/weir/cmd/weir/internal/pacing"
	"github.com/weirhq/weir/cmd/weir/internal/push"
	"github.com/weirhq/weir/cmd/weir/internal/spend"
	"github.com/weirhq/weir/cmd/weir/internal/state"
	"github.com/weirhq/weir/cmd/weir/internal/topics"
	"github.com/weirhq/weir/internal/buildinfo"
)

// commands returns every command below the root.
func commands(a *cli.App) []*cobra.Command {
	return slices.Concat(dev.Commands(a), ops.Commands(a), spend.Commands(a), state.Commands(a), topics.Commands(a), mirror.Commands(a),
		push.Commands(a), lease.Commands(a), pacing.Commands(a), budget.Commands(a), jobs.Commands(a))
}

// newRoot returns the command tree.
func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Exactly-once stream processing on Kafka: ad spend, resource leases and job queues",
		Long: "weir processes events from Kafka exactly once. It counts the spend of ad campaigns, leases resources\n" +
			"in several regions over DynamoDB, and runs job queues.\n\n" +
			"`weir dev` runs everything in one process. `weir run` runs roles against your own cluster.",
		Version: buildinfo.Read().Version,
	}
	a.SetUp(root)
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
	}
	for _, c := range commands(a) {
		c.GroupID = groupOf(c.Name())
		root.AddCommand(c)
	}
	return root
}

// group is a heading of the help, with its commands.
type group struct {
	title    string
	commands []string
}

// groups returns the headings of the help. The last one has all commands that no other has.
func groups() []group {
	return []group{
		{"Run and try", []string{"dev", "run", "load", "dynamodb", "bench"}},
		{"Ingest and query spend", []string{"ingest", "spend", "adjust", "budget", "state"}},
		{"Lease resources", []string{"lease", "client", "pool", "resource", "region", "status", "dedup", "balancer", "bridge"}},
		{"Run jobs", []string{"queue", "job"}},
		{"Set up", []string{"config", "topics", "table", "tls"}},
		{"Operate", nil},
	}
}

// groupOf returns the heading of a command.
func groupOf(command string) string {
	all := groups()
	for _, g := range all {
		if slices.Contains(g.commands, command) {
			return g.title
		}
	}
	return all[len(all)-1].title
}
