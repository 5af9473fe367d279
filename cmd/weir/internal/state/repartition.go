package state

import (
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

// repartitionPlan is what the command would do, or has done.
type repartitionPlan struct {
	From           string   `json:"from"` // application ids
	To             string   `json:"to"`
	FromPartitions int32    `json:"from_partitions"`
	ToPartitions   int32    `json:"to_partitions"`
	Running        []string `json:"running"` // processes of either
	Unread         int64    `json:"unread"`  // records of the former inputs
	DeadLetters    int      `json:"dead_letters"`
	Topics         []string `json:"topics"`  // of the new ones: what is not as it must be
	Keys           int64    `json:"keys"`    // moved
	Written        int      `json:"written"` // partitions written; the others were as they must be
}

// repartition is `weir repartition`.
type repartition struct {
	a    *cli.App
	from int
	yes  bool

	cfg *config.Config
	k   kafka.Cluster
	to  spendcounter.ProcessorConfig
	how offline.Repartitioning

	source, target stream.Processor
}

func newRepartitionCmd(a *cli.App) *cobra.Command {
	r := &repartition{a: a}
	c := &cobra.Command{
		Use:   "repartition -f NEW.yaml",
		Short: "Moves the counter's state to topics with another number of partitions",
		Long: "Moves the state of the spend counter to the topics of another generation, with another number of partitions: every\n" +
			"total, every duplicate counted, and the event ids of the duplicate window, so that an event sent again after the move\n" +
			"is a duplicate still. What was before stays as it is. The procedure, from 24 partitions to 48:\n" +
			"\n" +
			"  1. copy weir.yaml to new.yaml with  spend: {partitions: 48, generation: 2}\n" +
			"  2. weir topics apply -f new.yaml    makes ads.events.g2 and the others, beside the old ones\n" +
			"  3. send events and adjustments to the new topics, by 48 partitions; readers of spend.by.<dc> go to spend.by.<dc>.g2\n" +
			"     when the new counter runs\n" +
			"  4. weir lag -f weir.yaml            until nothing is left to read: lag 0 everywhere; settle `weir dlq list` too\n" +
			"  5. stop every weir of the old configuration\n" +
			"  6. weir repartition -f new.yaml           says what it would do; --yes does it\n" +
			"  7. start weir with new.yaml; `weir doctor` shows whether somebody still sends to the old topics\n" +
			"\n" +
			"Records sent in step 3 wait in the new topics. It refuses while records of the old ones are not counted. A move that was\n" +
			"cut short is repeated. The way back, while nothing was counted in the new topics: start the old configuration again; later:\n" +
			"generation 3, with 24 partitions. Delete the old topics, and data_dir/spendcounter, when the new ones have proven themselves.",
		Example: "  weir repartition -f new.yaml\n  weir repartition -f new.yaml --yes\n  weir repartition -f back.yaml --from 2 --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	f := c.Flags()
	f.IntVar(&r.from, "from", 0, "generation to move from (default: the one before spend.generation)")
	f.BoolVar(&r.yes, "yes", false, "do it")
	f.String("data-dir", "", "directory with room for a copy of the state (default: data_dir)")
	a.Bind(f, "data-dir", "data_dir")
	return c
}

func (r *repartition) run(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	plan, err := r.plan(ctx)
	if err != nil {
		return err
	}
	err = plan.obstacle(r)
	if err == nil && r.yes {
		var done offline.RepartitionResult
		done, err = offline.Repartition(ctx, node.OfflineConfig(r.cfg, r.k), r.source, r.target, r.how)
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
		r.a.Notef("--yes moves the state from %s to %s", plan.From, plan.To)
		return nil
	}
	r.a.Notef("moved: start weir with this configuration; %s and its topics are as they were", plan.From)
	return nil
}

// open finds out what is to be moved where.
func (r *repartition) open(ctx context.Context) (err error) {
	if r.cfg, r.k, err = connect.Cluster(r.a); err != nil {
		return err
	}
	r.to = node.SoleSpendRole(r.cfg)
	if r.from == 0 {
		r.from = r.cfg.Spend.Generation - 1
	}
	if r.from < 1 || r.from == r.cfg.Spend.Generation {
		return cli.UsageError(fmt.Sprintf("spend.generation is %d, and there is nothing to move from generation %d", r.cfg.Spend.Generation, r.from),
			"give the configuration of the new topics, with spend.partitions and the next spend.generation; `weir repartition --help` has the procedure")
	}
	l := events.Layout{Generation: r.from}
	if l.Shards, err = connect.Partitions(ctx, r.k, l.Name(events.EventsTopic)); err != nil {
		return err
	}
	move, source, target, err := r.to.MoveFrom(l)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the spend counter", err, "correct dc and peers")
	}
	r.how, r.source, r.target = spendMove(move), source, target
	return nil
}

// plan looks at both sides. It changes nothing.
func (r *repartition) plan(ctx context.Context) (*repartitionPlan, error) {
	from, to := r.source, r.target
	p := &repartitionPlan{From: from.App, To: to.App, FromPartitions: from.Partitions, ToPartitions: to.Partitions, Running: []string{}, Topics: []string{}}
	_, defaults := connect.RequiredTopics(r.cfg)
	steps, err := kafkaadmin.Plan(ctx, r.k, r.to.Topics(), defaults)
	if err != nil {
		return nil, cli.Fail(cli.ExitUnavailable, "cannot compare the topics", err, "check --brokers; `weir doctor` looks closer")
	}
	for _, s := range steps {
		if s.Kind != kafkaadmin.StepAlter {
			p.Topics = append(p.Topics, s.String())
		}
	}
	for _, app := range []string{from.App, to.App} {
		members, err := processors.Members(ctx, r.k, app)
		if err != nil {
			return nil, cli.Fail(cli.ExitUnavailable, "cannot ask who works", err, "check --brokers; `weir doctor` looks closer")
		}
		for _, m := range members {
			who := m.Instance
			if who == "" { // a move
				who = m.ID
			}
			if who = app + " " + who; !slices.Contains(p.Running, who) {
				p.Running = append(p.Running, who)
			}
		}
	}
	lag, err := kafkaadmin.Lag(ctx, r.k, from.App, from.Inputs)
	if err != nil {
		return nil, cli.Fail(cli.ExitUnavailable, "cannot read the lag of "+from.App, err, "check --brokers and --from; `weir doctor` looks closer")
	}
	for _, l := range lag {
		p.Unread += l.Lag
	}
	letters, err := kafkaadmin.List(ctx, r.k, from.DLQ, kafkaadmin.Filter{})
	if err != nil {
		return nil, cli.Fail(cli.ExitUnavailable, "cannot read "+from.DLQ, err, "check --brokers; `weir doctor` looks closer")
	}
	p.DeadLetters = len(letters)
	return p, nil
}

// obstacle is why the move cannot be made now, nil if it can.
func (p *repartitionPlan) obstacle(r *repartition) error {
	f := &cli.Failure{Code: cli.ExitFailed, What: "the state cannot be moved yet"}
	switch {
	case len(p.Topics) > 0:
		f.Why, f.Do = "the new topics are not there: "+p.Topics[0], "`weir topics apply` with this configuration"
	case p.Unread > 0:
		f.Why = fmt.Sprintf("%d records in the topics of %s are not counted", p.Unread, p.From)
		f.Do = "send to the new topics, and let weir with the former configuration count until `weir lag` shows 0"
	case len(p.Running) > 0:
		f.Why, f.Do = "there is at work: "+strings.Join(p.Running, ", "), "stop every process of both; one that was killed counts until its session time is over"
	default:
		if p.DeadLetters > 0 {
			r.a.Notef("%d dead letters of %s are not resolved: they stay there, and can be replayed only where they came from, before the move", p.DeadLetters, p.From)
		}
		return nil
	}
	return f
}

func repartitionFailure(err error) error {
	const what = "the state was not moved"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, offline.ErrInUse):
		return cli.Fail(cli.ExitFailed, what, err, "stop every process of both; one that was killed counts until its session time is over")
	case errors.Is(err, offline.ErrUnread):
		return cli.Fail(cli.ExitFailed, what, err, "with the former configuration let weir count until `weir lag` shows 0, stop it, and repeat the move")
	case errors.Is(err, offline.ErrNotEmpty):
		return cli.Fail(cli.ExitFailed, what, err, "it has been moved before and has counted since; to move once more, choose the next spend.generation")
	}
	return connect.RunFailure(err)
}
