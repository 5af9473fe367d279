package state

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// deadLetterRow is a record of the dead-letter topic.
type deadLetterRow struct {
	Origin  string            `json:"origin"` // topic/partition/offset: the argument of show, replay and drop
	Reason  string            `json:"reason"`
	Detail  string            `json:"detail"`
	Refused string            `json:"refused"`
	Bytes   int               `json:"bytes"`
	Key     string            `json:"key" table:"wide"`
	Value   string            `json:"value" table:"-"`
	Base64  bool              `json:"value_is_base64" table:"-"`
	Headers map[string]string `json:"headers,omitempty" table:"-"`
}

func rowOf(l *kafkaadmin.DeadLetter) deadLetterRow {
	detail, _, _ := strings.Cut(l.Detail, "\n")
	if l.Malformed != nil {
		detail = "damaged: " + l.Malformed.Error()
	}
	r := deadLetterRow{
		Origin: l.Name(), Reason: l.Reason, Detail: detail, Refused: l.RejectedAt.UTC().Format("2006-01-02T15:04:05.000Z"),
		Bytes: len(l.Value), Key: string(l.Key),
	}
	if r.Value = string(l.Value); !utf8.ValidString(r.Value) {
		r.Value, r.Base64 = base64.StdEncoding.EncodeToString(l.Value), true
	}
	for _, h := range l.Headers {
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		r.Headers[h.Key] = string(h.Value)
	}
	return r
}

func rowsOf(letters []kafkaadmin.DeadLetter) []deadLetterRow {
	rows := make([]deadLetterRow, len(letters))
	for i := range letters {
		rows[i] = rowOf(&letters[i])
	}
	return rows
}

// dlq holds the flags that the sub-commands share.
type dlq struct {
	a      *cli.App
	app    string
	group  string
	filter kafkaadmin.DeadLetterFilter
	all    bool
	yes    bool
	why    string

	topic string // the dead-letter topic
	of    node.App
}

func newDLQCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "dlq",
		Short: "Show, replay and drop the records that an application rejected",
		Long: "Show, replay and drop the records that an application rejected: the spend counter, another one with\n" +
			"--app, or with --group a program of your own, whose dead-letter topic is GROUP.dlq.",
	}
	c.AddCommand(newDLQListCmd(a), newDLQShowCmd(a), newDLQResolveCmd(a, "replay"), newDLQResolveCmd(a, "drop"))
	return c
}

// flags adds --app and --group.
func (d *dlq) flags(c *cobra.Command) {
	connect.AppFlag(c.Flags(), &d.app)
	connect.GroupFlag(c.Flags(), &d.group)
	c.MarkFlagsMutuallyExclusive("app", "group")
}

// open finds the dead-letter topic.
func (d *dlq) open(ctx context.Context) (k kafka.Cluster, err error) {
	cfg, k, err := connect.Cluster(ctx, d.a)
	if err != nil {
		return k, err
	}
	d.topic, d.of, err = connect.DeadLetterTopic(cfg, d.app, d.group)
	return k, err
}

func newDLQListCmd(a *cli.App) *cobra.Command {
	d := &dlq{a: a}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the unresolved records of the dead-letter topic",
		Example: "  weir dlq list --app lease-balancer\n  weir dlq list --group sessions",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, letters, err := d.list(cmd.Context())
			if err != nil {
				return err
			}
			return cli.PrintRows(a, rowsOf(letters))
		},
	}
	d.flags(c)
	c.Flags().StringVar(&d.filter.Reason, "reason", "", "only records with this reason")
	c.Flags().IntVar(&d.filter.Limit, "limit", 1000, "maximum number of records; 0: all")
	return c
}

func newDLQShowCmd(a *cli.App) *cobra.Command {
	d := &dlq{a: a}
	c := &cobra.Command{
		Use:   "show ORIGIN",
		Short: "Show a rejected record; ORIGIN is topic/partition/offset, as `weir dlq list` prints it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			origin, err := kafkaadmin.ParseOrigin(args[0])
			if err != nil {
				return cli.UsageError(err.Error(), "`weir dlq list` prints the origins")
			}
			k, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			l, err := kafkaadmin.ReadDeadLetter(cmd.Context(), k, d.topic, origin)
			if err != nil {
				return cli.Fail(0, "cannot show the record", err, "`weir dlq list` shows the unresolved records")
			}
			r := rowOf(&l)
			if a.Structured() {
				return cli.PrintOne(a, r)
			}
			// As text, the whole detail and the value are shown, too.
			return cli.PrintOne(a, struct {
				Origin  string            `json:"origin"`
				Reason  string            `json:"reason"`
				Refused string            `json:"refused"`
				Key     string            `json:"key"`
				Headers map[string]string `json:"headers"`
				Detail  string            `json:"detail"`
				Value   string            `json:"value"`
			}{r.Origin, r.Reason, r.Refused, r.Key, r.Headers, l.Detail, r.Value})
		},
	}
	d.flags(c)
	return c
}

func newDLQResolveCmd(a *cli.App, how string) *cobra.Command {
	d := &dlq{a: a}
	short := "Produce rejected records to their topics again, each once; without --yes, only list them"
	long := "A record goes to the partition that it was in. An ad event that was rejected as wrong_partition goes\n" +
		"to the partition of its account. An ad event is identified by account and event id, so an event that\n" +
		"was counted within the duplicate window becomes a duplicate."
	why := "reason of the decision, kept in the record's tombstone"
	if how == "drop" {
		why += "; required with --yes"
		short = "Mark rejected records as dropped; without --yes, only list them"
		long = "A dropped record is not counted. The topic keeps it, with the reason, until compaction removes it."
	}
	c := &cobra.Command{
		Use:   how + " ORIGIN...|--all",
		Short: short,
		Long:  short + ".\n\n" + long,
		RunE:  func(cmd *cobra.Command, args []string) error { return d.resolve(cmd.Context(), how, args) },
	}
	d.flags(c)
	c.Flags().BoolVar(&d.all, "all", false, "all unresolved records, or all with --reason")
	c.Flags().StringVar(&d.filter.Reason, "reason", "", "with --all: only records with this reason")
	c.Flags().BoolVar(&d.yes, "yes", false, how+" the records; without it they are only listed")
	c.Flags().StringVar(&d.why, "why", "", why)
	return c
}

func (d *dlq) list(ctx context.Context) (kafka.Cluster, []kafkaadmin.DeadLetter, error) {
	k, err := d.open(ctx)
	if err != nil {
		return k, nil, err
	}
	list, err := kafkaadmin.ListDeadLetters(ctx, k, d.topic, d.filter)
	if err != nil {
		return k, nil, connect.TopicFailure(0, "cannot read the dead-letter topic", err)
	}
	return k, list, nil
}

func (d *dlq) resolve(ctx context.Context, how string, origins []string) error {
	if d.all == (len(origins) > 0) {
		return cli.UsageError("give either the origins of records or --all", "`weir dlq list` prints the origins")
	}
	if how == "drop" && d.yes && d.why == "" {
		return cli.UsageError("--why is missing", "give --why the reason for dropping the records; it is kept with them")
	}
	k, letters, err := d.list(ctx)
	if err != nil {
		return err
	}
	if !d.all {
		if letters, err = pick(letters, origins); err != nil {
			return err
		}
	}
	if !d.yes {
		d.a.Notef("%d records would be %s: repeat the command with --yes", len(letters),
			map[string]string{"replay": "replayed", "drop": "dropped"}[how])
		return cli.PrintRows(d.a, rowsOf(letters))
	}
	order := kafkaadmin.ResolveOptions{Topic: d.topic, By: cli.UserName(), Why: d.why, Partition: d.of.Route}
	do := kafkaadmin.ReplayDeadLetters
	if how == "drop" {
		do = kafkaadmin.DropDeadLetters
	}
	out, err := do(ctx, k, letters, order)
	if err != nil {
		d.a.Notef("%d records done, %d resolved before, %d left", out.Done, out.AlreadyResolved, out.Remaining)
		return connect.DeadLetterFailure("not all records are resolved", err)
	}
	return cli.PrintOne(d.a, out)
}

// pick returns the records with these origins. An origin without a record is an error.
func pick(letters []kafkaadmin.DeadLetter, origins []string) ([]kafkaadmin.DeadLetter, error) {
	var out []kafkaadmin.DeadLetter
	for _, o := range origins {
		i := slices.IndexFunc(letters, func(l kafkaadmin.DeadLetter) bool { return l.Name() == o })
		if i < 0 {
			return nil, cli.Fail(cli.ExitFailed, "no unresolved record has origin "+o,
				errors.New("the record was resolved before, or never rejected"), "`weir dlq list` shows the unresolved records")
		}
		out = append(out, letters[i])
	}
	return out, nil
}
