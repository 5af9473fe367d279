package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/mirror"
	"github.com/weirhq/weir/processors/kafka"
)

// skip holds the arguments of `weir mirror skip`.
type skip struct {
	dc, topic string
	partition int32
	connect.SkipFlags
}

// skipPlan is what a skip does.
type skipPlan struct {
	DC        string `json:"dc"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"` // where the copy has stopped
	To        int64  `json:"to"`
	Lost      int64  `json:"lost"` // offsets that are never copied; records may be fewer; -1: not known
	TopicID   string `json:"topic_id" table:"wide"`
	Cause     string `json:"cause"`
}

func newSkipCmd(a *cli.App) *cobra.Command {
	s := &skip{}
	c := &cobra.Command{
		Use:   "skip DC/TOPIC/PARTITION --to OFFSET --why TEXT",
		Short: "Let a stopped copy continue behind records that cannot be copied; without --yes, only show the loss",
		Long: "Let a stopped copy continue: behind records that the other datacentre has deleted or that cannot\n" +
			"be read there, at the start of a topic that was deleted and created again, or where the other\n" +
			"datacentre has lost copied records. `weir mirror status` shows stopped copies and the offset. The\n" +
			"records between are never counted in this datacentre.\n\n" +
			"The command refuses to skip records that can be copied, and works on a copy that is stopped. The\n" +
			"state keeps what was skipped, with --why, the user and the time: `weir state scan --app mirror\n" +
			"--table skips` lists it. A process that runs carries the skip out within seconds. An instruction\n" +
			"that comes late, when the copy is at another offset, changes nothing.",
		Example: "  weir mirror skip us/ads.events/5 --to 81234\n" +
			"  weir mirror skip us/ads.events/5 --to 81234 --why 'retention was too short' --yes",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), a, args[0]) },
	}
	s.Add(c, "copy")
	return c
}

func (s *skip) run(ctx context.Context, a *cli.App, name string) error {
	if err := s.parse(name); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	d, err := connectMirror(ctx, a)
	if err != nil {
		return err
	}
	if err := d.isPeer(name, s.dc); err != nil {
		return err
	}
	if !slices.ContainsFunc(d.Topics, func(t mirror.Topic) bool { return t.Name == s.topic }) || s.partition >= d.Partitions {
		return cli.UsageError(fmt.Sprintf("%s/%d of %s is not copied", s.topic, s.partition, s.dc),
			"`weir mirror status` lists what is copied")
	}
	plan, err := s.plan(ctx, d)
	if err != nil {
		return err
	}
	if !s.Yes {
		loss := fmt.Sprintf("%d offsets would", plan.Lost)
		if plan.Lost < 0 {
			loss = "all records of the former log that were not copied would"
		}
		a.Notef("%s be skipped and never counted here: repeat the command with --why and --yes", loss)
		return cli.PrintOne(a, plan)
	}
	if err := s.apply(ctx, d, plan); err != nil {
		return err
	}
	return cli.PrintOne(a, plan)
}

// parse parses DC/TOPIC/PARTITION.
func (s *skip) parse(name string) error {
	parts := strings.Split(name, "/")
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 32)
		if s.dc, s.topic, s.partition = parts[0], parts[1], int32(n); err == nil && n >= 0 && s.dc != "" && s.topic != "" {
			return nil
		}
	}
	return cli.UsageError(fmt.Sprintf("%q is not a partition of another datacentre", name),
		"write DC/TOPIC/PARTITION, such as us/ads.events/5")
}

// plan checks the skip against the state of the copy.
func (s *skip) plan(ctx context.Context, d deployment) (p skipPlan, err error) {
	c, err := s.ask(ctx, d)
	if err != nil {
		return p, err
	}
	return s.planOf(c)
}

// planOf checks the skip against a state of the copy.
func (s *skip) planOf(c *weirpb.CopyStatus) (p skipPlan, err error) {
	refuse := func(why, do string) (skipPlan, error) {
		return p, cli.Fail(cli.ExitFailed, "nothing was skipped", errors.New(why), do)
	}
	to := c.GetResume()
	known := to.GetNext() > 0 || to.GetRecreated()
	switch {
	case !c.GetStopped():
		return refuse("the copy is not stopped: it is at offset "+strconv.FormatInt(c.GetNext(), 10),
			"`weir mirror status` lists stopped copies")
	case to == nil:
		return refuse("a skip does not help: "+c.GetProblem(), "remove the cause; the copy continues by itself")
	case known && s.To != to.GetNext():
		return refuse(fmt.Sprintf("offset %d is the next that may be copied, and --to is %d", to.GetNext(), s.To),
			fmt.Sprintf("repeat the command with --to %d", to.GetNext()))
	case !known && s.To <= c.GetNext():
		return refuse(fmt.Sprintf("the copy has stopped at offset %d, and --to is %d", c.GetNext(), s.To), "give a greater offset")
	case !known && c.GetEnd() >= 0 && s.To > c.GetEnd():
		return refuse(fmt.Sprintf("the log of %s ends at offset %d, and --to is %d", s.dc, c.GetEnd(), s.To),
			"give an offset behind the one that cannot be read, and at most the end")
	}
	p = skipPlan{
		DC: s.dc, Topic: s.topic, Partition: s.partition, From: c.GetNext(), To: s.To, Lost: s.To - c.GetNext(), TopicID: to.GetTopicId(),
		Cause: c.GetProblem(),
	}
	if to.GetRecreated() {
		p.Lost = -1
	}
	return p, nil
}

// ask returns the state of the copy.
func (s *skip) ask(ctx context.Context, d deployment) (*weirpb.CopyStatus, error) {
	tasks, err := d.tasks(ctx)
	if err != nil {
		return nil, err
	}
	c := tasks[s.partition].copyOf(s.dc, s.topic)
	if c == nil {
		r := newCopyRow(tasks[s.partition], s.dc, s.topic, s.partition)
		return nil, cli.Fail(cli.ExitUnavailable, "the state of the copy is not known", errors.New(r.State+": "+r.Reason),
			"start a process with `weir run --roles mirror`, or wait until it runs the partition")
	}
	return c, nil
}

// apply writes the instruction, and waits until a process has carried it out.
func (s *skip) apply(ctx context.Context, d deployment, p skipPlan) error {
	i := mirror.Instruction{
		Peer: p.DC, Topic: p.Topic, From: p.From, To: p.To, Who: cli.UserName(), Why: s.Why, AtMs: time.Now().UnixMilli(),
	}
	err := i.TopicID.UnmarshalText([]byte(p.TopicID))
	if err == nil {
		err = instruct(ctx, d, p, i)
	}
	if err != nil {
		return connect.TopicFailure(0, "nothing was skipped", err)
	}
	for end := time.Now().Add(s.Wait); ; {
		if c, err := s.ask(ctx, d); err == nil && c.GetNext() >= 0 && (c.GetNext() != p.From || !c.GetStopped()) {
			return nil
		}
		if time.Now().After(end) || !pause.For(ctx, 200*time.Millisecond) {
			return cli.Fail(cli.ExitTempFail, "the skip is written", fmt.Errorf("no process has carried it out within %s", s.Wait),
				"start a process with `weir run --roles mirror`, or wait; `weir mirror status` shows the offset")
		}
	}
}

// instruct writes an instruction to the partition that it is for.
func instruct(ctx context.Context, d deployment, p skipPlan, i mirror.Instruction) error {
	value, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("encode the instruction: %w", err)
	}
	producer, err := kafka.NewProducer(d.kafka, d.Control)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.Produce(ctx, p.Partition, []byte(p.DC+"/"+p.Topic), value); err != nil {
		return err
	}
	return producer.Flush(ctx)
}
