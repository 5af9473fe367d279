package pacing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/pacing/replay"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// moment is a campaign, or an arm, at a time: the last tick of a period.
type moment struct {
	At          string   `json:"at"`
	Account     string   `json:"account"`
	Campaign    string   `json:"campaign"`
	Arm         string   `json:"arm,omitempty"`
	Spent       string   `json:"spent"` // on the day
	Planned     string   `json:"planned,omitempty"`
	Budget      string   `json:"budget,omitempty"` // of the day; none: it has no budget of its own
	Currency    string   `json:"currency"`
	Open        bool     `json:"open"`
	Probability share    `json:"probability"`
	Multiplier  share    `json:"multiplier"`
	Reason      string   `json:"reason"`
	Cost        string   `json:"cost" table:"wide"` // of the period
	SpendAgeMs  int64    `json:"spend_age_ms" table:"wide"`
	Limited     bool     `json:"limited" table:"wide"`                        // a budget above has lower parameters
	Override    *float64 `json:"override_probability,omitempty" table:"wide"` // 0: stopped
	Peers       int      `json:"peers" table:"wide"`                          // controllers of other datacentres
}

// compared is a moment beside what the rule of --controller would have decided: its own parameters.
type compared struct {
	moment
	OtherProbability *share `json:"other_probability,omitempty"`
	OtherMultiplier  *share `json:"other_multiplier,omitempty"`
}

// share is a number up to 1: in tables a percentage.
type share float64

func (s share) String() string { return render.PercentText(float64(s)) }

// history is a run of `weir pacing history`.
type history struct {
	a                 *cli.App
	account, campaign string
	since, every      time.Duration
	controller        string

	rule     control.Controller // of --controller; nil: none
	from     time.Time
	accounts map[string]*accountHistory
}

// accountHistory is the history of the campaign of an account.
type accountHistory struct {
	*replay.Account
	period int64
	latest []compared         // of the period
	costs  map[string]float64 // in the period, by arm
	rows   []compared
}

func newHistoryCmd(a *cli.App) *cobra.Command {
	r := history{a: a, accounts: map[string]*accountHistory{}}
	c := &cobra.Command{
		Use:   "history CAMPAIGN",
		Short: "Show how a campaign was paced over time, and how another controller would have decided",
		Long: "Show how a campaign was paced over time: a row has the last tick of each period of --every.\n\n" +
			"The topic pacing.signals has what the controllers saw in each tick, for two days. Their decisions are\n" +
			"computed again from that, bit by bit the same. With --every 10s there is a row for each tick, and\n" +
			"-o jsonl has all that a controller sees: data to train one of your own.\n\n" +
			"--controller is a rule whose decisions are computed beside: other_probability and other_multiplier.\n" +
			"It begins with the first tick, and sees the recorded spend, which does not follow its decisions.\n" +
			"`weir pacing simulate` has days on which it does.",
		Example: "  weir pacing history spring --since 6h --every 5m\n" +
			"  weir pacing history spring --account acme --controller pid\n" +
			"  weir pacing history spring --account acme --every 10s -o jsonl > signals.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.campaign = args[0]
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.account, "account", "", "account id (default: all accounts that have the campaign)")
	f.DurationVar(&r.since, "since", time.Hour, "how far back")
	f.DurationVar(&r.every, "every", time.Minute, "time between two rows; 10s: each tick")
	f.StringVar(&r.controller, "controller", "", "another rule, whose decisions are computed beside: asap, dual, pid, ptr or ratio")
	return c
}

func (r *history) run(ctx context.Context) error {
	if r.since <= 0 || r.every < control.Tick {
		return cli.UsageError(fmt.Sprintf("--since %s or --every %s is out of range", r.since, r.every),
			fmt.Sprintf("use --since above 0, such as 6h, and --every of %s or more", control.Tick))
	}
	if r.controller != "" {
		list, err := choose("--controller", []string{r.controller}, control.Controllers(), control.Controller.Name)
		if err != nil {
			return err
		}
		r.rule = list[slices.IndexFunc(list, func(c control.Controller) bool { return c.Name() == r.controller })]
	}
	cfg, k, err := connect.Cluster(ctx, r.a)
	if err != nil {
		return err
	}
	layout := node.Pacing(cfg).Layout
	r.from = time.Now().Add(-r.since)
	// A replay begins with a whole tick.
	of := kafkaadmin.TopicRange{Topic: layout.Name(events.PacingSignalsTopic), Since: r.from.Add(-pack.WholeAfter - time.Minute)}
	if r.account != "" {
		of.Partitions = []int32{events.Shard(r.account, layout.Partitions())}
	}
	err = kafkaadmin.ReadPartitions(ctx, k, of, func(p int32, rec stream.Record) error {
		if err := r.add(rec.Value); err != nil {
			r.a.Notef("the record at offset %d of partition %d: %v", rec.Offset, p, err)
		}
		return nil
	})
	if err != nil {
		return cli.Fail(cli.ExitUnavailable, "cannot read the recorded ticks", err,
			"check kafka.brokers; `weir topics apply --for spend` creates the topic "+of.Topic)
	}
	rows, stats := r.end()
	if len(rows) == 0 {
		return r.notFound(stats)
	}
	r.note(stats)
	if r.rule != nil {
		return cli.PrintRows(r.a, rows)
	}
	plain := make([]moment, len(rows))
	for i := range rows {
		plain[i] = rows[i].moment
	}
	return cli.PrintRows(r.a, plain)
}

// notFound is the failure of a history without a row.
func (r *history) notFound(stats replay.Stats) error {
	why := fmt.Sprintf("there is no recorded tick of a campaign %q since %s", r.campaign, r.from.UTC().Format(time.RFC3339))
	if stats.Ticks > 0 {
		why = fmt.Sprintf("the account %q is paced, and has no campaign %q", r.account, r.campaign)
	}
	return &cli.Failure{
		Code: cli.ExitFailed, What: "not found", Why: why,
		Do: "`weir pacing show` lists the campaigns of an account; ticks are kept for two days, and written by the role pacing",
	}
}

// note notes what the rows rest on.
func (r *history) note(s replay.Stats) {
	r.a.Notef("replayed %d ticks: %d of %d recorded states are the replayed ones", s.Ticks, s.States-s.Wrong, s.States)
	if s.Wrong > 0 {
		r.a.Notef("the others were written by another version of weir, or ticks are missing: the rows may differ from what was decided")
	}
}

// add adds a record. Of ticks that are not valid it returns the last error; the others count.
func (r *history) add(value []byte) (err error) {
	m := &eventspb.PacingSignals{}
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("not a PacingSignals: %w", err)
	}
	for _, t := range m.GetTicks() {
		if r.account != "" && t.GetAccount() != r.account {
			continue
		}
		a := r.accounts[t.GetAccount()]
		if a == nil {
			if !r.has(t) {
				continue
			}
			a = &accountHistory{Account: replay.New(replay.Config{Controller: r.rule}), costs: map[string]float64{}}
			r.accounts[t.GetAccount()] = a
		}
		ok, tickErr := a.Add(t)
		if tickErr != nil {
			err = fmt.Errorf("account %q: %w", t.GetAccount(), tickErr)
		}
		if ok {
			r.take(a)
		}
	}
	return err
}

// has reports whether an account may have the campaign: a message of a whole tick names it, or is
// one of several.
func (r *history) has(t *eventspb.AccountTick) bool {
	return r.account != "" || t.GetWhole() && (t.GetMore() || slices.ContainsFunc(t.GetNodes(), func(n *eventspb.NodeTick) bool {
		return n.GetName().GetKind() == eventspb.NodeKind_NODE_KIND_CAMPAIGN && n.GetName().GetId() == r.campaign
	}))
}

// take takes the campaign, and its arms, of the last tick of an account.
func (r *history) take(a *accountHistory) {
	atMs := a.Tick.GetAtMs()
	if atMs < r.from.UnixMilli() {
		return
	}
	if period := atMs / r.every.Milliseconds(); period != a.period {
		a.endPeriod()
		a.period = period
	}
	a.latest = a.latest[:0]
	for i := range a.Nodes {
		n := &a.Nodes[i]
		switch {
		case n.Kind == eventspb.NodeKind_NODE_KIND_CAMPAIGN && n.ID == r.campaign:
			a.latest = append(a.latest, r.moment(a, n, ""))
		case n.Kind == eventspb.NodeKind_NODE_KIND_ARM && n.Campaign == r.campaign:
			a.latest = append(a.latest, r.moment(a, n, n.ID))
		}
	}
}

// endPeriod adds the rows of the period.
func (a *accountHistory) endPeriod() {
	for _, m := range a.latest {
		m.Cost = budget.FormatAmount(int64(a.costs[m.Arm]))
		a.rows = append(a.rows, m)
	}
	a.latest = a.latest[:0]
	clear(a.costs)
}

// moment returns the row of a node.
func (r *history) moment(a *accountHistory, n *replay.Node, arm string) compared {
	t := a.Tick
	a.costs[arm] += n.Cost
	m := compared{moment: moment{
		At: time.UnixMilli(t.GetAtMs()).UTC().Format(time.RFC3339), Account: t.GetAccount(), Campaign: r.campaign, Arm: arm,
		Spent: budget.FormatAmount(n.Spent), Currency: a.Currency(), Open: n.Params.Open,
		Probability: share(n.Params.Probability), Multiplier: share(n.Params.Multiplier), Reason: string(n.Reason),
		SpendAgeMs: t.GetSpendAgeMs(), Limited: n.Limited, Override: n.Override, Peers: n.Peers.Count,
	}}
	if n.Paced {
		m.Budget, m.Planned = budget.FormatAmount(n.Budget), budget.FormatAmount(render.RoundCents(int64(n.Pace.PlannedSpend())))
	}
	if r.rule != nil && n.Paced {
		m.OtherProbability, m.OtherMultiplier = new(share(n.Other.Probability)), new(share(n.Other.Multiplier))
	}
	return m
}

// end returns the rows, by account and time, and the sum of the replays.
func (r *history) end() (rows []compared, sum replay.Stats) {
	for _, a := range r.accounts {
		a.endPeriod()
		rows = append(rows, a.rows...)
		sum.Add(a.Stats)
	}
	slices.SortStableFunc(rows, func(x, y compared) int { return strings.Compare(x.Account, y.Account) })
	return rows, sum
}
