package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// repartitionPlan is what the command would move, or has moved.
type repartitionPlan struct {
	From           string   `json:"from"` // application ids
	To             string   `json:"to"`
	FromPartitions int32    `json:"from_partitions"`
	ToPartitions   int32    `json:"to_partitions"`
	Running        []string `json:"running"` // processes of both
	Unread         int64    `json:"unread"`  // records of the former inputs that are not counted
	Added          int64    `json:"added"`   // records in partitions that were added to the former inputs
	DeadLetters    int      `json:"dead_letters"`
	Topics         []string `json:"topics"`  // missing or wrong topics of the new generation
	Keys           int64    `json:"keys"`    // keys moved
	Written        int      `json:"written"` // partitions written; the others were complete
}

// repartition is `weir repartition`.
type repartition struct {
	a    *cli.App
	from int
	yes  bool
	undo bool

	allowDeadLetters bool

	cfg *config.Config
	k   kafka.Cluster
	to  spendcounter.ProcessorConfig
	how offline.Repartitioning

	source, target stream.Processor
	added          kafkaadmin.AddedPartitions // of an input of source, with records
}

func newRepartitionCmd(a *cli.App) *cobra.Command {
	r := &repartition{a: a}
	c := &cobra.Command{
		Use:   "repartition -f NEW.yaml",
		Short: "Move the state of the spend counter to topics with another number of partitions",
		Long: "Move the state of the spend counter to the topics of the next generation, which have another number\n" +
			"of partitions: all totals, the counts of duplicates, and the event ids of the duplicate window, so\n" +
			"that an event that is sent again after the move is still a duplicate. The old state stays as it is.\n" +
			"\n" +
			"docs/operations.md has the procedure under \"Change the number of partitions\": what to do before and\n" +
			"after this command. NEW.yaml has the new spend.partitions and spend.generation, and every process\n" +
			"with the old configuration is stopped. The command fails while events of the old topics are not\n" +
			"counted, or dead letters are not resolved. If it fails or is interrupted, run it again: it completes\n" +
			"the move. To go back before the new counter has started, --undo the move.",
		Example: "  weir repartition -f new.yaml\n  weir repartition -f new.yaml --yes\n  weir repartition -f new.yaml --undo --yes\n  weir repartition -f back.yaml --from 2 --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	cli.RefuseServer(c, "all processes are stopped during the move, and it needs the whole configuration of -f and kafka.brokers")
	f := c.Flags()
	f.IntVar(&r.from, "from", 0, "generation to move from (default: the one before spend.generation)")
	f.BoolVar(&r.yes, "yes", false, "move the state; without it the command only shows the plan")
	f.BoolVar(&r.undo, "undo", false, "undo a move, so that the former generation can run again; refused after the new generation has run")
	f.BoolVar(&r.allowDeadLetters, "allow-dead-letters", false,
		"move although dead letters are not resolved: they cannot be replayed after the move")
	f.String("data-dir", "", "directory with room for a copy of the state (default: data_dir)")
	a.Bind(f, "data-dir", "data_dir")
	return c
}

func (r *repartition) run(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	if r.undo {
		return r.undoMove(ctx)
	}
	plan, err := r.plan(ctx)
	if err != nil {
		return err
	}
	err = plan.obstacle(r)
	if err == nil && r.yes {
		var done offline.RepartitionResult
		cfg := node.OfflineConfig(r.cfg, r.k)
		cfg.FormerChangelogs = node.FormerChangelogs(r.cfg.DC, r.from)
		done, err = offline.Repartition(ctx, cfg, r.source, r.target, r.how)
		plan.Keys, plan.Written = done.Keys, done.Written
		err = repartitionFailure(err)
	}
	if err != nil {
		return err
	}
	if err := cli.PrintOne(r.a, plan); err != nil {
		return err
	}
	if !r.yes {
		r.a.Notef("repeat the command with --yes to move the state from %s to %s", plan.From, plan.To)
		return nil
	}
	r.a.Notef("the state is moved: start weir with this configuration. The state and the topics of %[1]s stay; %[1]s does not start any more",
		plan.From)
	return nil
}

// undoMove lets the source run again, in place of the target.
func (r *repartition) undoMove(ctx context.Context) error {
	if !r.yes {
		r.a.Notef("repeat the command with --yes to undo the move: then %s can run again; %s cannot run before the next move", r.source.App, r.target.App)
		return nil
	}
	err := offline.UndoRepartition(ctx, node.OfflineConfig(r.cfg, r.k), r.source, r.target)
	const what = "the move was not undone"
	switch {
	case errors.Is(err, offline.ErrInUse):
		return cli.Fail(cli.ExitFailed, what, err, stopAll)
	case errors.Is(err, offline.ErrNotEmpty):
		return cli.Fail(cli.ExitFailed, what, err, "move the state to the next spend.generation, with the former spend.partitions")
	case errors.Is(err, processors.ErrMovedAway):
		return cli.Fail(cli.ExitFailed, what, err, "give the configuration of that generation")
	case errors.Is(err, offline.ErrNothingToUndo):
		return cli.Fail(cli.ExitFailed, what, err,
			"give the configuration with which the state was moved, and the same former spend.partitions")
	case err != nil:
		return connect.RunFailure(err)
	}
	r.a.Notef("the move is undone: start weir with the configuration of %s; %s does not start before the next move", r.source.App,
		r.target.App)
	return nil
}

// open finds the source and the target of the move.
func (r *repartition) open(ctx context.Context) (err error) {
	if r.cfg, r.k, err = connect.OwnCluster(r.a); err != nil {
		return err
	}
	r.to = node.OfflineSpendCounter(r.cfg)
	if err := r.checkFrom(); err != nil {
		return err
	}
	l := events.Layout{Generation: r.from}
	// The changelog has the state. An administrator may have added partitions to all topics.
	if l.Shards, err = connect.StatePartitions(ctx, r.k, l, r.cfg.DC); err == nil && l.Shards == 0 {
		l.Shards, err = connect.Partitions(ctx, r.k, l.Name(events.SpendTopic(r.cfg.DC)))
	}
	if err != nil {
		return err
	}
	move, source, target, err := r.to.MoveFrom(l)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the spend counter", err, "correct dc and dcs")
	}
	r.how, r.source, r.target = spendMove(move), source, target
	r.how.Rewrite = r.to.Rewrite
	return nil
}

// checkFrom sets from to the generation before spend.generation, unless --from is given. It
// returns a usage error if that generation cannot have state to move.
func (r *repartition) checkFrom() error {
	const help = "; `weir repartition --help` describes the procedure"
	to := r.cfg.Spend.Generation
	switch {
	case r.from < 0:
		return cli.UsageError(fmt.Sprintf("--from %d is not a generation", r.from), "give the number of a generation, 1 or more"+help)
	case r.from == to:
		return cli.UsageError(fmt.Sprintf("--from and spend.generation are both %d", to),
			"give a configuration with the next spend.generation and the new spend.partitions in -f"+help)
	case r.from == 0 && to == 1:
		return cli.UsageError("spend.generation is 1, the first generation: no earlier one has state to move",
			"give a configuration with spend.generation: 2 and the new spend.partitions in -f"+help)
	case r.from == 0:
		r.from = to - 1
	}
	return nil
}

// plan compares source and target. It changes nothing.
func (r *repartition) plan(ctx context.Context) (*repartitionPlan, error) {
	from, to := r.source, r.target
	p := &repartitionPlan{
		From: from.App, To: to.App, FromPartitions: from.Partitions, ToPartitions: to.Partitions, Running: []string{}, Topics: []string{},
	}
	steps, err := kafkaadmin.PlanTopics(ctx, r.k, r.to.Topics(), connect.TopicDefaults(r.cfg, []string{"spend"}))
	if err != nil {
		return nil, connect.TopicFailure(cli.ExitUnavailable, "cannot compare the topics", err)
	}
	for _, s := range steps {
		if s.Kind != kafkaadmin.StepAlter {
			p.Topics = append(p.Topics, s.String())
		}
	}
	for _, app := range []string{from.App, to.App} {
		members, err := processors.Members(ctx, r.k, app)
		if err != nil {
			return nil, connect.TopicFailure(cli.ExitUnavailable, "cannot list the members of the group", err)
		}
		for _, m := range members {
			name := app + " " + cmp.Or(m.Instance, m.ID) // another `weir repartition` has no instance
			if !slices.Contains(p.Running, name) {
				p.Running = append(p.Running, name)
			}
		}
	}
	lag, err := kafkaadmin.Lag(ctx, r.k, from.App, from.Inputs)
	if err != nil {
		return nil, connect.TopicFailure(cli.ExitUnavailable, "cannot read the lag of "+from.App, err)
	}
	for _, l := range lag {
		if l.Partition < from.Partitions {
			p.Unread += l.Lag
			continue
		}
		if p.Added += l.Lag; l.Lag > 0 {
			r.added = kafkaadmin.AddedPartitions{Topic: l.Topic, State: from.Partitions, Has: l.Partition + 1}
		}
	}
	letters, err := kafkaadmin.ListDeadLetters(ctx, r.k, from.DLQ, kafkaadmin.DeadLetterFilter{})
	if err != nil {
		return nil, connect.TopicFailure(cli.ExitUnavailable, "cannot read the dead-letter topic "+from.DLQ, err)
	}
	p.DeadLetters = len(letters)
	return p, nil
}

// obstacle returns why the state cannot be moved now, nil if it can.
func (p *repartitionPlan) obstacle(r *repartition) error {
	f := &cli.Failure{Code: cli.ExitFailed, What: "the state cannot be moved yet"}
	switch {
	case len(p.Topics) > 0:
		f.Why, f.Do = "the new topics are not ready: "+p.Topics[0], "run `weir topics apply` with this configuration"
	case p.Added > 0:
		f.Why = fmt.Sprintf("%s: %d records there are not counted", r.added, p.Added)
		f.Do = r.added.Remedy()
	case p.Unread > 0:
		f.Why = fmt.Sprintf("%d records in the topics of %s are not counted", p.Unread, p.From)
		f.Do = "send events to the new topics only, and run weir with the old configuration until `weir lag` shows 0"
	case p.DeadLetters > 0 && !r.allowDeadLetters:
		f.Why = fmt.Sprintf("%d records of the dead-letter topic %s are not resolved, and cannot be replayed after the move", p.DeadLetters,
			r.source.DLQ)
		f.Do = "with the old configuration, list them with `weir dlq list`, replay them while weir runs, or drop them; or give them up with --allow-dead-letters"
	case len(p.Running) > 0:
		f.Why, f.Do = "these processes are running: "+strings.Join(p.Running, ", "), stopAll
	default:
		return nil
	}
	return f
}

// stopAll is the remedy if processes of the source or the target are running.
const stopAll = "stop all processes of both generations; a killed process is a member until processor.session_timeout is over"

func repartitionFailure(err error) error {
	const what = "the state was not moved"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, offline.ErrInUse):
		return cli.Fail(cli.ExitFailed, what, err, stopAll)
	case errors.Is(err, offline.ErrUnread):
		return cli.Fail(cli.ExitFailed, what, err,
			"run weir with the old configuration until `weir lag` shows 0, stop it, and repeat the move")
	case errors.Is(err, offline.ErrAdded):
		return cli.Fail(cli.ExitFailed, what, err, "repeat the move when the added partitions have no records")
	case errors.Is(err, processors.ErrMovedAway):
		return cli.Fail(cli.ExitFailed, what, err,
			"move from that generation with --from, or undo its move first: `weir repartition --undo` with its configuration")
	case errors.Is(err, processors.ErrPartlyMoved):
		return cli.Fail(cli.ExitFailed, what, err,
			"complete the move to the generation of --from first, with its configuration; or give --from the generation that has the whole state")
	case errors.Is(err, offline.ErrNotEmpty):
		return cli.Fail(cli.ExitFailed, what, err,
			"the counter has run with this configuration, after a move or without one; to move, set the next spend.generation")
	}
	return connect.RunFailure(err)
}
