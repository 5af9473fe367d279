package pacing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// ledger is the spend of campaign c of each account, and who asked for it when.
type ledger struct {
	mu    sync.Mutex
	units map[string]float64
	asked map[string][]time.Time
	err   error
	takes map[string]time.Duration // how long an account takes; others take no time
	rows  map[string][]pack.Row    // of accounts whose units are not asked for
	// reading is that of each query; nil: exact, and of this moment.
	reading *Reading
}

func (l *ledger) read(_ context.Context, q SpendQuery, fn func(*pack.Row)) (Reading, error) {
	account := q.Account
	l.mu.Lock()
	l.asked[account] = append(l.asked[account], time.Now())
	row := pack.Row{Campaign: "c", Day: q.From, Currency: "EUR", Micros: int64(l.units[account] * 1e6)}
	takes, err := l.takes[account], l.err
	rows, listed := l.rows[account]
	reading := Reading{Dataset: "eu", Exact: true, CompleteMs: math.MaxInt64}
	if l.reading != nil {
		reading = *l.reading
	}
	l.mu.Unlock()
	<-time.After(takes)
	if err == nil && !listed {
		fn(&row)
	}
	for i := range rows {
		if err == nil && rows[i].Day >= q.From {
			fn(&rows[i])
		}
	}
	return reading, err
}

func (l *ledger) do(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

// pacedTask is a task in a bubble.
type pacedTask struct {
	*streamtest.Runner
	t     *testing.T
	spend *ledger
}

// inBubble runs a task with accounts of one campaign, which may spend 100 on a day.
func inBubble(t *testing.T, accounts []string, fn func(x *pacedTask)) {
	inBubbleWith(t, ProcessorConfig{}, accounts, fn)
}

// inBubbleWith is inBubble with further fields of the configuration.
func inBubbleWith(t *testing.T, cfg ProcessorConfig, accounts []string, fn func(x *pacedTask)) {
	synctest.Test(t, func(t *testing.T) {
		spend := &ledger{units: map[string]float64{}, asked: map[string][]time.Time{}, rows: map[string][]pack.Row{}}
		cfg.DC, cfg.Instance, cfg.Layout, cfg.Spend = "eu", "a", events.Layout{Shards: 1}, spend.read
		p, err := cfg.Processor()
		if err != nil {
			t.Fatal(err)
		}
		x := &pacedTask{streamtest.New(t, streamtest.Options{Processor: p}), t, spend}
		defer func() { x.Handler().(stream.Closer).Close() }()
		for _, account := range accounts {
			x.setBudget(account, 1, 100)
		}
		x.Commit(time.Now().UnixMilli())
		fn(x)
	})
}

func (x *pacedTask) setBudget(account string, version uint64, units int64) {
	x.t.Helper()
	x.set(&budget.Document{
		Account: account, Version: version, Zone: "UTC", Currency: "EUR",
		Campaigns: []budget.Campaign{{ID: "c", Limit: budget.Limit{Kind: budget.Daily, Micros: units * 1e6}}},
	})
}

// set folds a document.
func (x *pacedTask) set(d *budget.Document) {
	x.t.Helper()
	value, err := proto.Marshal(d.Record())
	if err != nil {
		x.t.Fatal(err)
	}
	x.AppendTo(events.BudgetsTopic, stream.Record{Key: d.RecordKey(), Value: value})
	x.FoldAll()
}

// second lets a second pass.
func (x *pacedTask) second() {
	<-time.After(time.Second)
	synctest.Wait()
}

// run commits each second, as the runtime does.
func (x *pacedTask) run(seconds int) {
	for range seconds {
		x.second()
		x.Commit(time.Now().UnixMilli())
	}
}

// pack returns the pack of an account, nil before the first.
func (x *pacedTask) pack(account string) *eventspb.AccountPack {
	value, err := x.Get(TablePacks, AppendPackKey(nil, account, 0))
	if err != nil {
		x.t.Fatal(err)
	}
	if value == nil {
		return nil
	}
	m := &eventspb.AccountPack{}
	if err := proto.Unmarshal(value, m); err != nil {
		x.t.Fatal(err)
	}
	return m
}

// TestTicks: each account has a tick each ten seconds, at the second of its bucket, and its pack
// follows its spend and its budget.
func TestTicks(t *testing.T) {
	var accounts []string
	for i := range 30 {
		accounts = append(accounts, fmt.Sprintf("account-%d", i))
	}
	inBubble(t, accounts, func(x *pacedTask) {
		x.run(100)
		seconds := map[int64]bool{}
		for _, account := range accounts {
			asked := x.spend.asked[account]
			if len(asked) != 10 {
				t.Fatalf("%s had %d ticks in 100 s", account, len(asked))
			}
			for i, at := range asked {
				if at.Unix()%Buckets != Bucket(account) || i > 0 && at.Sub(asked[i-1]) != control.Tick {
					t.Errorf("%s, bucket %d: ticks at %v", account, Bucket(account), asked)
				}
			}
			seconds[Bucket(account)] = true
			m := x.pack(account)
			if m.GetWriterDc() != "eu" || m.GetVersion() != 1 || m.GetSequence() == 0 || m.GetOwnerEpoch() != 1 || len(m.GetCampaigns()) != 1 ||
				!m.GetCampaigns()[0].GetOpen() || m.GetDataset() != "eu" {
				t.Errorf("%v", m)
			}
		}
		if len(seconds) < 8 {
			t.Errorf("the accounts are in %d buckets", len(seconds))
		}

		const account = "account-3"
		x.spend.do(func() { x.spend.units[account] = 100 })
		x.run(11)
		if n := x.pack(account).GetCampaigns()[0]; n.GetOpen() || n.GetReason() != string(control.Spent) {
			t.Errorf("after the budget was spent: %v", n)
		}
		x.setBudget(account, 2, 1000)
		x.run(11)
		if m := x.pack(account); m.GetVersion() != 2 || !m.GetCampaigns()[0].GetOpen() || m.GetCampaigns()[0].GetBudgetMicros() != 1000e6 {
			t.Errorf("after the budget was raised: %v", m)
		}
		x.setBudget(account, 3, 50)
		x.run(11)
		if m := x.pack(account); m.GetVersion() != 3 || m.GetCampaigns()[0].GetOpen() {
			t.Errorf("after the budget was cut: %v", m)
		}
		if x.Count(countPacks) == 0 || x.Count(countTicks) < 300 || x.Count(countUnread) != 0 {
			t.Errorf("%g packs, %g ticks, %g of them unread", x.Count(countPacks), x.Count(countTicks), x.Count(countUnread))
		}
	})
}

// TestSlowBucket: accounts whose spend takes longer than a second to read delay the others, and no
// bucket waits for ever.
func TestSlowBucket(t *testing.T) {
	var accounts []string
	for i := range 30 {
		accounts = append(accounts, fmt.Sprintf("account-%d", i))
	}
	inBubble(t, accounts, func(x *pacedTask) {
		x.spend.do(func() { x.spend.takes = map[string]time.Duration{accounts[0]: 1500 * time.Millisecond} })
		x.run(100)
		for _, account := range accounts {
			if n := len(x.spend.asked[account]); n < 9 {
				t.Errorf("%s of bucket %d had %d ticks in 100 s, beside bucket %d", account, Bucket(account), n, Bucket(accounts[0]))
			}
		}
		x.spend.do(func() { x.spend.takes[accounts[0]] = 25 * time.Second }) // longer than all buckets together
		late := x.Count(countLate)
		x.run(300)
		for _, account := range accounts {
			if n := len(x.spend.asked[account]); n < 15 {
				t.Errorf("%s of bucket %d had %d ticks in 400 s", account, Bucket(account), n)
			}
		}
		if x.Count(countLate) == late {
			t.Error("no tick that was left out is counted")
		}
	})
}

// TestFewPacks: an account that does not change is written once a minute.
func TestFewPacks(t *testing.T) {
	inBubble(t, []string{"acme"}, func(x *pacedTask) {
		x.spend.do(func() { x.spend.units["acme"] = 200 })
		x.run(20)
		first := x.Count(countPacks)
		x.run(600)
		if n := x.Count(countPacks) - first; n != 10 {
			t.Errorf("%g packs in ten minutes", n)
		}
	})
}

// TestNoCommit: while nothing can be committed, ticks are left out and do not pile up. Then the
// account continues.
func TestNoCommit(t *testing.T) {
	inBubble(t, []string{"acme"}, func(x *pacedTask) {
		x.run(30)
		asked := len(x.spend.asked["acme"])
		for range 300 {
			x.second()
		}
		if n := len(x.spend.asked["acme"]) - asked; n > 1 {
			t.Errorf("%d ticks wait", n)
		}
		x.run(60)
		if n := len(x.spend.asked["acme"]) - asked; n < 6 || x.Count(countLate) < 29 {
			t.Errorf("%d ticks in a minute, %g were left out", n, x.Count(countLate))
		}
	})
}

// TestCrash: a new handler begins with the parameters that were committed, whatever the one before
// had computed since then.
func TestCrash(t *testing.T) {
	inBubble(t, []string{"acme"}, func(x *pacedTask) {
		spent := 0.0
		minute := func(commits bool) {
			for range 60 {
				spent += 0.01
				x.spend.do(func() { x.spend.units["acme"] = spent })
				x.second()
				if now := time.Now().UnixMilli(); commits {
					x.Commit(now)
				} else {
					x.Abort(now)
				}
			}
		}
		minute(true)
		minute(true)
		before := x.pack("acme")
		minute(false)
		x.Crash()
		x.Commit(time.Now().UnixMilli())
		x.run(11)
		after := x.pack("acme")
		if after.GetAtMs() <= before.GetAtMs() {
			t.Fatalf("no pack after the crash: %v", after)
		}
		if a, b := before.GetCampaigns()[0], after.GetCampaigns()[0]; a.GetProbability() != b.GetProbability() || !b.GetOpen() {
			t.Errorf("%v, before the crash %v", b, a)
		}
		last := after
		for range 6 {
			x.run(10)
			m := x.pack("acme")
			if step := math.Abs(math.Log(m.GetCampaigns()[0].GetProbability() / last.GetCampaigns()[0].GetProbability())); step > control.MaxStep+pack.WriteStep {
				t.Errorf("a step of %g", step)
			}
			last = m
		}
	})
}

// loaded returns a task that begins with the state of x. change may change a row, and problems gets
// the problems.
func (x *pacedTask) loaded(change func(table byte, key, value []byte) []byte, problems *[]string) *task {
	cfg := ProcessorConfig{Spend: x.spend.read, Problem: func(account string, err error) {
		*problems = append(*problems, account+": "+err.Error())
	}}
	next := newTask(&cfg, stream.Task{Range: func(table byte, from, to []byte, fn func(key, value []byte) error) error {
		return x.Range(table, from, to, func(key, value []byte) error { return fn(key, change(table, key, value)) })
	}})
	if err := next.load(); err != nil {
		x.t.Fatal(err)
	}
	return next
}

// tickOf prepares the bucket of an account, and returns the tick of the account, nil without one.
func (x *task) tickOf(account string) *tick {
	x.busy = [Buckets]bool{}
	ticks := x.prepare(Bucket(account), time.Now().UnixMilli())
	if at := slices.IndexFunc(ticks, func(k tick) bool { return k.Name() == account }); at >= 0 {
		return &ticks[at]
	}
	return nil
}

// TestProblems: the campaigns of a pack that cannot be decoded begin again, and other accounts go
// on. An account whose time zone is not known here is reported at each tick.
func TestProblems(t *testing.T) {
	inBubble(t, []string{"acme", "bcme"}, func(p *pacedTask) {
		p.run(20)
		var problems []string
		x := p.loaded(func(table byte, key, value []byte) []byte {
			if table == TablePacks && bytes.HasPrefix(key, []byte("acme")) {
				return []byte{0xff}
			}
			return value
		}, &problems)
		for account, unread := range map[string]bool{"acme": true, "bcme": false} { // the pack of the owner before has a time of the spend
			k := x.tickOf(account)
			k.Unread = true
			k.Step(&k.Signals)
			if m := k.Pack(0); m.GetUnread() != unread {
				t.Errorf("%s: %v", account, m)
			}
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "acme: pack 0 cannot be decoded, and its campaigns begin again: ") {
			t.Errorf("%q", problems)
		}
		d := &budget.Document{Account: "acme", Version: 2, Zone: "Mars/Base", Currency: "EUR"}
		x.setVersions("acme", budget.Versions{}.Add(d))
		problems = nil
		for range 2 {
			x.tickOf("acme")
		}
		if len(problems) != 2 || !strings.Contains(problems[1], "acme: the time zone of version 2 of the budgets: unknown time zone Mars/Base") {
			t.Errorf("%q", problems)
		}
	})
}

// TestStoredBudgets: the versions of the state are in force from the first tick on, unless newer
// ones are folded before it. An account whose budgets cannot be decoded is reported at each tick,
// and is not paced.
func TestStoredBudgets(t *testing.T) {
	inBubble(t, []string{"acme", "bcme"}, func(p *pacedTask) {
		p.setBudget("acme", 2, 200)
		p.run(20)
		var problems []string
		damaged := false
		start := func() *task {
			problems = nil
			return p.loaded(func(table byte, key, value []byte) []byte {
				if damaged && table == TableBudgets && bytes.HasPrefix(key, []byte("acme")) {
					return []byte{0xff}
				}
				return value
			}, &problems)
		}
		budgetOf := func(k *tick) (version uint64, micros int64) {
			k.Unread = true
			k.Step(&k.Signals)
			m := k.Pack(0)
			return m.GetVersion(), m.GetCampaigns()[0].GetBudgetMicros()
		}
		x := start()
		if version, micros := budgetOf(x.tickOf("acme")); version != 2 || micros != 200e6 {
			t.Errorf("version %d, %d micros", version, micros)
		}
		x = start()
		x.setVersions("acme", budget.Versions{List: []*budget.Document{{
			Account: "acme", Version: 3, Zone: "UTC", Currency: "EUR",
			Campaigns: []budget.Campaign{{ID: "c", Limit: budget.Limit{Kind: budget.Daily, Micros: 300e6}}},
		}}})
		k := x.tickOf("acme")
		if version, micros := budgetOf(k); version != 3 || micros != 300e6 {
			t.Errorf("with a newer version: version %d, %d micros", version, micros)
		}
		if m := k.Pack(0); m.GetUnread() {
			t.Errorf("with a newer version, the pack of the owner before is not continued: %v", m)
		}
		damaged = true
		x = start()
		for n := range 2 {
			if x.tickOf("acme") != nil || len(problems) != n+1 || !strings.Contains(problems[n], "acme: budgets cannot be decoded, and the account is not paced: ") {
				t.Errorf("tick %d: %q", n, problems)
			}
		}
		if x.tickOf("bcme") == nil {
			t.Error("the other account is not paced")
		}
	})
}

// TestUnread: the spend of an account cannot be read: its campaign holds, and stops after ten
// minutes.
func TestUnread(t *testing.T) {
	inBubble(t, []string{"acme"}, func(x *pacedTask) {
		x.run(60)
		x.spend.do(func() { x.spend.err = errors.New("no dataset can be read") })
		x.run(500)
		if m := x.pack("acme"); !m.GetCampaigns()[0].GetOpen() || m.GetCampaigns()[0].GetReason() != string(control.Stale) || m.GetSpendAgeMs() < 400_000 {
			t.Errorf("after 500 s: %v", m)
		}
		x.run(130)
		if m := x.pack("acme"); m.GetCampaigns()[0].GetOpen() || m.GetCampaigns()[0].GetReason() != string(control.TooOld) {
			t.Errorf("after 630 s: %v", m)
		}
		x.spend.do(func() { x.spend.err = nil })
		x.run(11)
		if m := x.pack("acme"); !m.GetCampaigns()[0].GetOpen() {
			t.Errorf("after the spend is back: %v", m)
		}
		if x.Count(countUnread) < 60 {
			t.Errorf("%g ticks without spend", x.Count(countUnread))
		}
	})
}

// TestLeader: the owner of a partition writes the row of its leader each few seconds, also without
// accounts and while the spend is read.
func TestLeader(t *testing.T) {
	for _, accounts := range [][]string{nil, {"slow"}} {
		inBubble(t, accounts, func(x *pacedTask) {
			x.spend.takes = map[string]time.Duration{"slow": time.Minute}
			leader := func() *eventspb.ShardLeader {
				value, err := x.Get(TableLeaders, AppendLeaderKey(nil, 0))
				m := &eventspb.ShardLeader{}
				if err := errors.Join(err, proto.Unmarshal(value, m)); err != nil {
					t.Fatal(err)
				}
				return m
			}
			for range 10 {
				before := leader()
				x.run(4)
				if after := leader(); after.GetSequence() <= before.GetSequence() || time.Now().UnixMilli()-after.GetAtMs() > 4000 ||
					after.GetOwnerEpoch() == 0 || after.GetProcess() != "a" {
					t.Fatalf("%v follows %v", after, before)
				}
			}
		})
	}
}

// TestPeers: the parameters of an account approach those of another datacentre, also after a crash,
// once its pack is written again. The reading of packs ends with the task.
func TestPeers(t *testing.T) {
	var observe func(*eventspb.AccountPack)
	reading := 0
	cfg := ProcessorConfig{OtherPacks: func(ctx context.Context, _ int32, fn func(*eventspb.AccountPack)) {
		reading++
		observe = fn
		<-ctx.Done()
		reading--
	}}
	inBubbleWith(t, cfg, []string{"acme", "other"}, func(x *pacedTask) {
		x.run(60)
		probability := func(account string) float64 { return x.pack(account).GetCampaigns()[0].GetProbability() }
		send := func() {
			m := x.pack("acme")
			m.WriterDc, m.AtMs = "us", time.Now().UnixMilli()
			s := m.GetCampaigns()[0].GetState()
			s.Probability = min(1, 3*s.GetProbability())
			for _, m := range []*eventspb.AccountPack{m, {Account: "gone"}, {}} {
				observe(m)
			}
		}
		if a, b := probability("acme"), probability("other"); a != b {
			t.Fatalf("without a peer: %g and %g", a, b)
		}
		send()
		x.run(70)
		a, b := probability("acme"), probability("other")
		if a < 1.05*b || x.Count(countPeers) != 3 {
			t.Errorf("with a peer of three times the probability: %g, without %g; %g packs counted", a, b, x.Count(countPeers))
		}
		x.Crash()
		send() // too early
		x.run(30)
		send()
		x.run(60)
		if c, d := probability("acme"), probability("other"); c/d <= a/b*1.03 || reading != 1 {
			t.Errorf("after a crash: %g of %g, before %g of %g; %d read", c, d, a, b, reading)
		}
	})
}

// TestShown: ads that were shown are in flight in the packs, each report once, also after a crash.
func TestShown(t *testing.T) {
	var shown func(*eventspb.InsertionSums)
	cfg := ProcessorConfig{Insertions: func(ctx context.Context, _ int32, fn func(*eventspb.InsertionSums)) {
		shown = fn
		<-ctx.Done()
	}}
	inBubbleWith(t, cfg, []string{"acme", "other"}, func(x *pacedTask) {
		x.run(60)
		flight := func(account string) float64 { return x.pack(account).GetCampaigns()[0].GetInFlight().GetMicros() }
		campaign := x.pack("acme").GetCampaigns()[0].GetId()
		report := func(account string, sequence uint64) {
			shown(&eventspb.InsertionSums{
				Account: account, Reporter: "r", Sequence: sequence, AtMs: time.Now().UnixMilli(),
				Campaigns: []*eventspb.CampaignInsertions{{Campaign: campaign, ExpectedMicros: 1e6}},
			})
		}
		for sequence := range uint64(10) {
			for _, account := range []string{"acme", "acme", "gone"} { // a report that is repeated counts once
				report(account, sequence+1)
			}
			if sequence > 0 {
				report("acme", sequence) // and so does one that comes late
			}
			x.run(10)
		}
		x.run(65) // packs are written once a minute
		acme, other := flight("acme"), flight("other")
		if acme < 1e6 || acme > 10e6 || other != 0 || x.Count(countShown) != 10 {
			t.Errorf("%g are in flight, of another account %g; %g reports counted", acme, other, x.Count(countShown))
		}
		x.Crash()
		x.run(65)
		if after := flight("acme"); after < acme/4 || after > acme {
			t.Errorf("%g are in flight after a crash, before %g", after, acme)
		}
	})
}

// TestOverrides: a campaign that an operator has stopped stays so in a process that takes over and
// has not read the override, until it reads that the override was withdrawn.
func TestOverrides(t *testing.T) {
	var list []*eventspb.CampaignOverride
	cfg := ProcessorConfig{Overrides: func(account string) []*eventspb.CampaignOverride {
		if account != "acme" {
			return nil
		}
		return list
	}}
	inBubbleWith(t, cfg, []string{"acme", "other"}, func(x *pacedTask) {
		open := func(account string) bool { return x.pack(account).GetCampaigns()[0].GetOpen() }
		x.run(30)
		at := time.Now().UnixMilli()
		list = []*eventspb.CampaignOverride{{Account: "acme", Campaign: "c", AtMs: at, UntilMs: at + 600_000}}
		x.run(11)
		if open("acme") || !open("other") {
			t.Errorf("open after the stop of acme: acme %v, other %v", open("acme"), open("other"))
		}
		x.Crash()
		list = nil
		x.run(90)
		if open("acme") {
			t.Error("it continues in another process")
		}
		list = []*eventspb.CampaignOverride{{Account: "acme", Campaign: "c", AtMs: at + 1, UntilMs: at + 1}}
		x.run(11)
		if !open("acme") {
			t.Error("it does not continue after the withdrawal")
		}
	})
}
