package ops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func newPartitionCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "partition", Short: "Let a partition that cannot read its input continue"}
	c.AddCommand(newPartitionSkipCmd(a))
	return c
}

// partitionSkip holds the flags of `weir partition skip`.
type partitionSkip struct {
	kafkaadmin.Skip
	app   string
	flags connect.SkipFlags
}

func newPartitionSkipCmd(a *cli.App) *cobra.Command {
	s := &partitionSkip{}
	c := &cobra.Command{
		Use:   "skip TOPIC/PARTITION --to OFFSET --why TEXT",
		Short: "Skip records of an input that cannot be read; without --yes, only show what would be lost",
		Long: "Skip records of an input that cannot be read: a batch that decompresses to more than 64 MiB, a\n" +
			"damaged batch, or records that retention deleted before the application read them. The partition\n" +
			"then continues at --to. The counter does not count skipped records. An executor does not carry out\n" +
			"skipped commands; their senders repeat a command that is still needed.\n\n" +
			"`weir doctor` prints the command for each stopped partition. The command refuses to skip records\n" +
			"that can be read. The state keeps what was skipped, with --why, the user and the time:\n" +
			"`weir doctor` lists it. A process that runs carries the skip out within seconds, without a\n" +
			"restart; otherwise the next process that has the partition does. An executor has no state: the\n" +
			"metadata of its committed offsets keep what was skipped.",
		Example: "  weir partition skip ads.events/5 --to 8 --why 'batch of a broken producer' --yes\n" +
			"  weir partition skip lease.changes/3 --to 8 --app lease-balancer\n" +
			"  weir partition skip lease.commands.eu/3 --to 8 --app lease-executor.eu",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), a, args[0]) },
	}
	connect.AppFlag(c.Flags(), &s.app)
	s.flags.Add(c, "read")
	return c
}

func (s *partitionSkip) run(ctx context.Context, a *cli.App, name string) error {
	var err error
	if s.Topic, s.Partition, err = parsePartition(name); err != nil {
		return err
	}
	if err := s.flags.Check(); err != nil {
		return err
	}
	s.To, s.Why, s.Who = s.flags.To, s.flags.Why, cli.UserName()
	cfg, k, err := connect.Cluster(ctx, a)
	if err != nil {
		return err
	}
	app, err := connect.App(cfg, "--app", s.app)
	if err != nil {
		return err
	}
	plan, err := s.plan(ctx, k, app)
	if errors.Is(err, kafkaadmin.ErrSkip) {
		return cli.Fail(cli.ExitFailed, "nothing was skipped", err, "`weir doctor` prints the command for each stopped partition")
	}
	if err != nil {
		return connect.TopicFailure(0, "nothing was skipped", err)
	}
	if !s.flags.Yes {
		a.Notef("%d offsets of %s would be skipped and never %s: repeat the command with --why and --yes", plan.Lost, name, fate(app))
		return cli.PrintOne(a, plan)
	}
	if err := kafkaadmin.ApplySkip(ctx, k, plan, s.flags.Wait); err != nil {
		if errors.Is(err, kafkaadmin.ErrNotTaken) {
			return cli.Fail(cli.ExitTempFail, "the skip is written", err,
				"start a process with `weir run`, or wait: the owner of the partition carries it out; `weir lag` shows the offset")
		}
		return cli.Fail(0, "cannot skip", err, "repeat the command: a skip is carried out once")
	}
	return cli.PrintOne(a, plan)
}

// plan plans the skip of a processor or an executor.
func (s *partitionSkip) plan(ctx context.Context, k kafka.Cluster, app node.App) (*kafkaadmin.SkipPlan, error) {
	if app.Processor != nil {
		return kafkaadmin.PlanSkip(ctx, k, app.Processor, s.Skip)
	}
	return kafkaadmin.PlanSinkSkip(ctx, k, &stream.Sink{Group: app.Name, Topic: app.Inputs[0]}, s.Skip)
}

// fate is what does not happen to skipped records of an application.
func fate(app node.App) string {
	if app.Processor == nil {
		return "carried out"
	}
	return "counted"
}

// parsePartition parses TOPIC/PARTITION.
func parsePartition(name string) (topic string, partition int32, err error) {
	topic, number, _ := strings.Cut(name, "/")
	p, err := strconv.ParseInt(number, 10, 32)
	if err != nil || p < 0 || topic == "" {
		return "", 0, cli.UsageError(fmt.Sprintf("%q is not a partition", name), "write TOPIC/PARTITION, such as ads.events/5")
	}
	return topic, int32(p), nil
}
