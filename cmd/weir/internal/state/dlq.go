package state

import (
	"context"
	"encoding/base64"
	"errors"
	"os/user"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// deadLetterRow is a dead letter as it is shown.
type deadLetterRow struct {
	Origin  string            `json:"origin"` // topic/partition/offset: how replay and drop name it
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
	r := deadLetterRow{Origin: l.Name(), Reason: l.Reason, Detail: detail, Refused: l.Refused.UTC().Format("2006-01-02T15:04:05.000Z"), Bytes: len(l.Value), Key: string(l.Key)}
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

// dlq is what the sub-commands share.
type dlq struct {
	a      *cli.App
	topic  string // of the queue
	filter kafkaadmin.Filter
	all    bool
	yes    bool
	why    string
}

func newDLQCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "dlq",
		Short: "Shows, replays and drops the records that the spend counter refused",
	}
	c.AddCommand(newDLQListCmd(a), newDLQShowCmd(a), newDLQResolveCmd(a, "replay"), newDLQResolveCmd(a, "drop"))
	return c
}

func newDLQListCmd(a *cli.App) *cobra.Command {
	d := &dlq{a: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists what is not resolved",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, letters, err := d.list(cmd.Context())
			if err != nil {
				return err
			}
			return cli.PrintRows(a, rowsOf(letters))
		},
	}
	c.Flags().StringVar(&d.filter.Reason, "reason", "", "only those refused for this reason")
	c.Flags().IntVar(&d.filter.Limit, "limit", 1000, "at most so many; 0 is all")
	return c
}

func newDLQShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ORIGIN",
		Short: "Shows one refused record whole: ORIGIN is topic/partition/offset, as list gives it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			origin, err := kafkaadmin.ParseOrigin(args[0])
			if err != nil {
				return cli.UsageError(err.Error(), "take it from `weir dlq list`")
			}
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			l, err := kafkaadmin.Show(cmd.Context(), k, deadLetterTopic(cfg), origin)
			if err != nil {
				return cli.Fail(0, "cannot show the letter", err, "`weir dlq list` shows what there is")
			}
			r := rowOf(&l)
			if a.Structured() {
				return cli.PrintOne(a, r)
			}
			// A person sees the stack and the bytes, too.
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
}

func newDLQResolveCmd(a *cli.App, how string) *cobra.Command {
	d := &dlq{a: a}
	short := "Puts refused records back where they came from, each once; shows which, unless --yes is given"
	if how == "drop" {
		short = "Gives refused records up for good; shows which, unless --yes is given"
	}
	c := &cobra.Command{
		Use:   how + " ORIGIN...|--all",
		Short: short,
		RunE:  func(cmd *cobra.Command, args []string) error { return d.resolve(cmd.Context(), how, args) },
	}
	c.Flags().BoolVar(&d.all, "all", false, "all that are not resolved, or all of --reason")
	c.Flags().StringVar(&d.filter.Reason, "reason", "", "with --all: only those refused for this reason")
	c.Flags().BoolVar(&d.yes, "yes", false, "do it")
	c.Flags().StringVar(&d.why, "why", "", "kept with the record's tombstone; drop needs it")
	return c
}

func (d *dlq) list(ctx context.Context) (kafka.Cluster, []kafkaadmin.DeadLetter, error) {
	cfg, k, err := connect.Cluster(d.a)
	if err != nil {
		return k, nil, err
	}
	d.topic = deadLetterTopic(cfg)
	list, err := kafkaadmin.List(ctx, k, d.topic, d.filter)
	if err != nil {
		return k, nil, cli.Fail(0, "cannot read the dead-letter queue", err, "check --brokers; `weir doctor` looks closer")
	}
	return k, list, nil
}

func (d *dlq) resolve(ctx context.Context, how string, origins []string) error {
	if d.all == (len(origins) > 0) {
		return cli.UsageError("name the records by their origin, or give --all, not both", "`weir dlq list` shows the origins")
	}
	if how == "drop" && d.yes && d.why == "" {
		return cli.UsageError("a record is dropped for good and --why is missing", "say why, for those who ask later")
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
		d.a.Notef("%d records would be %s; --yes does it", len(letters), map[string]string{"replay": "replayed", "drop": "dropped"}[how])
		return cli.PrintRows(d.a, rowsOf(letters))
	}
	order := kafkaadmin.ResolveOptions{Topic: d.topic, By: who(), Why: d.why}
	do := kafkaadmin.Replay
	if how == "drop" {
		do = kafkaadmin.Drop
	}
	out, err := do(ctx, k, letters, order)
	if err != nil {
		d.a.Notef("done %d, resolved before %d, left %d", out.Done, out.AlreadyResolved, out.Remaining)
		return cli.Fail(0, "not all is done", err, "the same command again does the rest, each record once")
	}
	return cli.PrintOne(d.a, out)
}

// deadLetterTopic is the topic of the queue.
func deadLetterTopic(c *config.Config) string {
	return node.SpendRole(c).Layout.Name(events.SpendDLQTopic)
}

// pick keeps the letters of the origins, all of which must be there.
func pick(letters []kafkaadmin.DeadLetter, origins []string) ([]kafkaadmin.DeadLetter, error) {
	var out []kafkaadmin.DeadLetter
	for _, o := range origins {
		i := slices.IndexFunc(letters, func(l kafkaadmin.DeadLetter) bool { return l.Name() == o })
		if i < 0 {
			return nil, cli.Fail(cli.ExitFailed, "no unresolved record of origin "+o, errors.New("it was resolved before, or never refused"), "`weir dlq list` shows what there is")
		}
		out = append(out, letters[i])
	}
	return out, nil
}

// who is the person at the keyboard, as far as the system knows.
func who() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
