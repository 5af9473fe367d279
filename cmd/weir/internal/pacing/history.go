package pacing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	At          string   `json:"at"` // RFC 3339
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
	LimitedBy   string   `json:"limited_by,omitempty"`                        // budget above whose parameters count
	Grown       string   `json:"spent_in_period" table:"wide"`                // since the row before
	SpendAgeMs  int64    `json:"spend_age_ms" table:"wide"`                   // of the spend
	Override    *float64 `json:"override_probability,omitempty" table:"wide"` // by an operator; 0: stopped
	Peers       int      `json:"peers" table:"wide"`                          // controllers of other datacentres that count
	PeersLog    float64  `json:"peers_log" table:"wide"`                      // sum of the logarithms of what they move
	TickMs      int64    `json:"tick_ms" table:"wide"`                        // At, Unix ms
	BudgetDay   string   `json:"budget_day" table:"wide"`
	PlannedBy   float64  `json:"planned_share" table:"wide"` // of the budgets of the day, by the tick
	Cost        float64  `json:"cost_micros" table:"wide"`   // of a tick, as the controller has it
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

// MarshalJSON returns the number, for JSON and CSV.
func (s share) MarshalJSON() ([]byte, error) { return json.Marshal(float64(s)) }

// history is a run of `weir pacing history`.
type history struct {
	a                 *cli.App
	account, campaign string
	since, every      time.Duration
	controller        string

	rule     control.Controller // of --controller; nil: none
	from     time.Time
	accounts map[string]*accountHistory
	lastMs   int64 // time of the last tick of the campaign, also before from; 0: none
	failed   error // of the last record that could not be replayed
}

// accountHistory is the history of the campaign of an account.
type accountHistory struct {
	*replay.Account
	period int64
	latest map[string]compared // of the period, by arm
	grown  map[string]int64    // in the period, by arm, micros
	rows   []compared
}

func newHistoryCmd(a *cli.App) *cobra.Command {
	r := history{a: a, accounts: map[string]*accountHistory{}}
	c := &cobra.Command{
		Use:   "history CAMPAIGN",
		Short: "Show how a campaign was paced over time, and how another controller would have decided",
		Long: "Show how a campaign was paced over time: a row has the last tick of each period of --every.\n\n" +
			"The topic pacing.signals has what the controllers saw in each tick, for two days. Their decisions\n" +
			"are computed again from that. With --every 10s there is a row for each tick, and -o jsonl has what\n" +
			"the controller saw in it: data to train one of your own.\n\n" +
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
	f.StringVar(&r.controller, "controller", "", "another rule, whose decisions are computed beside: "+control.Names())
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
			r.failed = err
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
		return r.notFound()
	}
	r.note(rows, stats)
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
func (r *history) notFound() error {
	of := "of any account"
	if r.account != "" {
		of = fmt.Sprintf("of account %q", r.account)
	}
	f := &cli.Failure{
		Code: cli.ExitFailed, What: "not found", Do: "`weir pacing status` shows whether the accounts are paced now",
		Why: fmt.Sprintf("since %s no tick %s has a campaign %q", utcText(r.from.UnixMilli()), of, r.campaign),
	}
	switch {
	case r.failed != nil:
		f.Why += fmt.Sprintf(", and records could not be replayed: %v", r.failed)
	case r.lastMs > 0:
		f.Why += ", whose last one is of " + utcText(r.lastMs)
	default:
		f.Do = "check the id: `weir pacing show --account ACCOUNT` lists the campaigns of an account. Ticks are written by the role pacing"
	}
	return f
}

// note notes what the rows rest on, and what they lack.
func (r *history) note(rows []compared, s replay.Stats) {
	states := "no state is recorded within them to compare"
	if s.States > 0 {
		states = fmt.Sprintf("%d of %d recorded states are the replayed ones", s.States-s.Wrong, s.States)
	}
	r.a.Notef("replayed %d ticks: %s", s.Ticks, states)
	if s.Wrong > 0 {
		r.a.Notef("the others were written by another version of weir: the rows may differ from what was decided")
	}
	first := slices.MinFunc(rows, func(a, b compared) int { return cmp.Compare(a.TickMs, b.TickMs) }).TickMs
	if time.UnixMilli(first).Sub(r.from) > r.every+time.Minute {
		r.a.Notef("the first tick since %s is of %s", utcText(r.from.UnixMilli()), utcText(first))
	}
	if s.Skipped > 0 {
		r.a.Notef("%d ticks are left out, because ticks before them are missing: of the begin of what was read, or lost", s.Skipped)
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
			if !r.mayHave(t) {
				continue
			}
			a = &accountHistory{
				Account: replay.New(replay.Config{Controller: r.rule}), latest: map[string]compared{}, grown: map[string]int64{},
			}
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

// mayHave reports whether an account may have the campaign: a message of a whole tick names it, or
// is one of several.
func (r *history) mayHave(t *eventspb.AccountTick) bool {
	return r.account != "" || t.GetWhole() && (t.GetMore() || slices.ContainsFunc(t.GetNodes(), func(n *eventspb.NodeTick) bool {
		return n.GetName().GetKind() == eventspb.NodeKind_NODE_KIND_CAMPAIGN && n.GetName().GetId() == r.campaign
	}))
}

// take takes the campaign, and its arms, of the last tick of an account.
func (r *history) take(a *accountHistory) {
	atMs := a.Tick.GetAtMs()
	if period := atMs / r.every.Milliseconds(); period != a.period || r.every == control.Tick {
		a.endPeriod()
		a.period = period
	}
	for i := range a.Nodes {
		n, arm := &a.Nodes[i], ""
		switch {
		case n.Kind == eventspb.NodeKind_NODE_KIND_CAMPAIGN && n.ID == r.campaign:
		case n.Kind == eventspb.NodeKind_NODE_KIND_ARM && n.Campaign == r.campaign:
			arm = n.ID
		default:
			continue
		}
		if r.lastMs = max(r.lastMs, atMs); atMs >= r.from.UnixMilli() {
			a.grown[arm] += n.Grown
			a.latest[arm] = r.moment(a, n, arm)
		}
	}
}

// endPeriod adds the rows of the period: of the campaign, then of its arms.
func (a *accountHistory) endPeriod() {
	for _, arm := range slices.Sorted(maps.Keys(a.latest)) {
		m := a.latest[arm]
		m.Grown = budget.FormatAmount(a.grown[arm])
		a.rows = append(a.rows, m)
	}
	clear(a.latest)
	clear(a.grown)
}

// moment returns the row of a node.
func (r *history) moment(a *accountHistory, n *replay.Node, arm string) compared {
	t := a.Tick
	m := compared{moment: moment{
		At: time.UnixMilli(t.GetAtMs()).UTC().Format(time.RFC3339), Account: t.GetAccount(), Campaign: r.campaign, Arm: arm,
		Spent: budget.FormatAmount(n.Spent), Currency: a.Currency(), Open: n.Params.Open,
		Probability: share(n.Params.Probability), Multiplier: share(n.Params.Multiplier), Reason: string(n.Reason),
		SpendAgeMs: t.GetSpendAgeMs(), Override: n.Override, Peers: n.Peers.Count, PeersLog: n.Peers.Log, TickMs: t.GetAtMs(),
		BudgetDay: events.Day(t.GetBudgetDay()).String(), PlannedBy: t.GetPlanned(), Cost: n.Cost,
	}}
	if n.LimitedBy != nil {
		m.LimitedBy = n.LimitedBy.ID
	}
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

func utcText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }
