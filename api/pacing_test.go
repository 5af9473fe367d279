package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
)

const getPacing = "/weir.v1.PacingService/GetPacing"

// packState is a fakeState whose keys are those of the table of packs, and of the versions of
// budgets if there are any.
type packState struct {
	*fakeState
	budgets *fakeState // nil: none
}

func (f packState) Page(ctx context.Context, q PageQuery) (*Page, error) {
	table := q.Table
	q.Table = 1
	switch {
	case table == pacing.TablePacks:
		return f.fakeState.Page(ctx, q)
	case table != pacing.TableBudgets:
		return nil, fmt.Errorf("table %d", table)
	case f.budgets != nil:
		return f.budgets.Page(ctx, q)
	}
	_, at, err := f.look(ctx, q.Partition, q.MaxStaleness)
	return &Page{AsOf: at}, err
}

// putBudgets adds a version of the budgets of an account.
func (f *packState) putBudgets(t *testing.T, d *budget.Document) {
	t.Helper()
	value, err := proto.Marshal(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	if f.budgets == nil {
		f.budgets = &fakeState{instance: f.instance}
		for p := range int32(fakePartitions) {
			f.budgets.put(p, "\x01", "")
			f.budgets.remove(p, "\x01")
		}
	}
	f.budgets.put(events.Shard(d.Account, fakePartitions), string(budget.AppendKey(nil, d.Account, d.Version)), string(value))
}

// newPackState has packs in the partitions of their accounts.
func newPackState(t *testing.T, list ...*eventspb.AccountPack) packState {
	t.Helper()
	f := packState{fakeState: &fakeState{instance: "weir-0"}}
	for p := range int32(fakePartitions) {
		f.put(p, "\x01", "") // a partition without packs is that of the owner, too
		f.remove(p, "\x01")
	}
	for _, m := range list {
		value, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		f.put(events.Shard(m.GetAccount(), fakePartitions), string(pacing.AppendPackKey(nil, m.GetAccount(), int(m.GetPart()))), string(value))
	}
	return f
}

// pacingConfig serves packs and budgets.
func pacingConfig(f packState, budgets *fakeBudgets) Config {
	cfg := config()
	cfg.Budgets, cfg.BudgetSink = budgets, budgets
	cfg.Packs = &PackReader{State: NewRouter(RouterConfig{State: f, Peers: &fakePeers{}}), Shards: fakePartitions}
	return cfg
}

// pack is a part of an account, with a time that many seconds ago.
func pack(account string, part, parts int32, ago time.Duration, campaigns ...*eventspb.PacedNode) *eventspb.AccountPack {
	return &eventspb.AccountPack{
		Account: account, Part: part, Parts: parts, WriterDc: "us", Version: 3, Currency: "EUR", BudgetDay: 2026_11_27, BeginMs: 1, EndMs: 2,
		AtMs: time.Now().Add(-ago).UnixMilli(), Dataset: "eu", SpendAgeMs: 1500, Planned: 0.375, Campaigns: campaigns,
	}
}

// node is a campaign that is in force with a probability.
func node(id, reason string, probability float64) *eventspb.PacedNode {
	return &eventspb.PacedNode{
		Id: id, Open: true, Probability: probability, Multiplier: 1, Reason: reason, BudgetMicros: 100_000_000, SpentMicros: 41_200_000,
		LimitHash: 7, Controller: "ratio", State: &eventspb.PaceState{Budget: 100_000_000, Planned: 0.375},
	}
}

// TestGetPacing reads accounts of several parts: the header is that of the part of the campaign, or
// of the oldest part. What the account does not have is named.
func TestGetPacing(t *testing.T) {
	experiment := node("b", "behind_plan", 0.5)
	experiment.Arms = []*eventspb.PacedNode{node("new", "ahead_of_plan", 0.25)}
	experiment.Arms[0].LimitedBy, experiment.Arms[0].LimitedByKind = "brand", eventspb.LimitedByKind_LIMITED_BY_KIND_SHARED
	twin := node("all", "behind_plan", 0.5) // the campaign limits its arm, and the shared budget of its id does not
	twin.Arms = []*eventspb.PacedNode{node("new", "behind_plan", 0.5)}
	twin.Arms[0].LimitedBy, twin.Arms[0].LimitedByKind = "all", eventspb.LimitedByKind_LIMITED_BY_KIND_CAMPAIGN
	tiny := node("tiny", "tiny_budget", 1)
	tiny.State.Tiny, tiny.State.Allowance, tiny.LastsMs = true, 2_500_000.4, new(int64(90_000))
	experiment.LastsMs = new(int64(90_000))
	raised := node("raised", "behind_plan", 0.5) // the plan begins again at 40 % of the day, with 20 spent
	raised.State = &eventspb.PaceState{Budget: 100_000_000, Planned: 0.7, AnchorPlanned: 0.4, AnchorSpent: 20_000_000}
	above := &eventspb.PacedNode{Id: "above", Open: true, Probability: 0.5, Multiplier: 1, LimitedBy: "brand", SpentMicros: 5}
	above.LimitedByKind = eventspb.LimitedByKind_LIMITED_BY_KIND_SHARED
	first, second := pack("acme", 0, 2, 5*time.Second, twin, experiment), pack("acme", 1, 2, 40*time.Second, tiny, raised, above)
	first.Shared = []*eventspb.PacedNode{node("all", "behind_plan", 1), node("brand", "ahead_of_plan", 0.25)}
	second.SpendAgeMs, second.OtherCurrencies, second.OtherDays, second.Unread = 9000, []string{"USD"}, []int32{2026_11_28}, true
	first.PlanShape = &eventspb.PlanShape{Now: &eventspb.LearntShape{Days: 4.5}}
	f := newPackState(t, first, second, pack("acme2", 0, 1, 0, node("b", "first_tick", 0.1)))
	s := mustNew(t, pacingConfig(f, &fakeBudgets{}))
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	get := func(campaign string) *weirpb.AccountPacing {
		t.Helper()
		res, err := c.GetPacing(t.Context(), &weirpb.GetPacingRequest{Account: "acme", Campaign: campaign})
		if err != nil || res.AsOf.GetPartition() != events.Shard("acme", fakePartitions) {
			t.Fatalf("%v, %v", res, err)
		}
		return res.Pacing
	}
	ids := func(list []*weirpb.PacedBudget) (text string) {
		for _, b := range list {
			text += b.Id + " "
		}
		return text
	}

	all := get("")
	if got := ids(all.Campaigns) + "/ " + ids(all.Shared); got != "above all b raised tiny / all brand " {
		t.Errorf("all: %s", got)
	}
	if all.AgeMs < 40_000 || all.AgeMs > 140_000 || all.TickMs != second.AtMs || all.SpendAgeMs != 9000 || !all.Unread || all.OtherCurrencies[0] != "USD" ||
		!slices.Equal(all.OtherDays, []string{"2026-11-28"}) ||
		all.BudgetDay != "2026-11-27" || all.WriterDc != "us" || all.BudgetVersion != 3 || all.Dataset != "eu" || all.PlannedShare != 0.375 || all.PlanDays != 4.5 {
		t.Errorf("all: %v", all)
	}
	if n := all.Counts; n.Campaigns != 5 || n.Open != 5 || n.Limited != 1 || n.Reasons["behind_plan"] != 3 || n.Reasons["no_own_budget"] != 1 {
		t.Errorf("counts: %v", n)
	}
	if p := get("tiny"); p.PlanDays != 4.5 { // of another part
		t.Errorf("tiny: %v", p)
	}
	one := get("b")
	if b := one.Campaigns[0]; len(one.Campaigns) != 1 || !b.Budgeted || b.PlannedMicros != 37_500_000 || b.SpentMicros != 41_200_000 ||
		b.AllowanceMicros != nil || b.Controller != "ratio" || b.GetRunsOutMs() != first.AtMs+90_000 || len(b.Arms) != 1 || b.Arms[0].Probability != 0.25 || one.TickMs != first.AtMs || one.SpendAgeMs != 1500 {
		t.Errorf("b: %v", one)
	}
	if got := ids(one.Shared); got != "brand " { // it limits the arm
		t.Errorf("b: shared budgets %s", got)
	}
	if arm := one.Campaigns[0].Arms[0]; arm.LimitedBy != "brand" || arm.LimitedByKind != "shared_budget" {
		t.Errorf("arm of b: %v", arm)
	}
	if p := get("all"); len(p.Shared) != 0 || p.Campaigns[0].Arms[0].LimitedByKind != "campaign" {
		t.Errorf("a campaign with the id of a shared budget: %v", p)
	}
	if b := get("tiny").Campaigns[0]; b.AllowanceMicros == nil || *b.AllowanceMicros != 2_500_000 || b.RunsOutMs != nil {
		t.Errorf("tiny: %v", b)
	}
	if b := get("raised").Campaigns[0]; b.PlannedMicros != 60_000_000 {
		t.Errorf("raised: %v", b)
	}
	if b := get("above").Campaigns[0]; b.Budgeted || b.PlannedMicros != 0 || b.SpentMicros != 5 {
		t.Errorf("above: %v", b)
	}

	checkPacingErrors(t, s)
}

// checkPacingErrors: what the accounts of TestGetPacing do not have is named.
func checkPacingErrors(t *testing.T, s *Server) {
	h := s.dataHandler()
	for body, want := range map[string]string{
		`{}`:                                       `400 {"code":"invalid_argument","message":"the request has no account`,
		`{"account":"a\u0000"}`:                    `400 {"code":"invalid_argument"`,
		`{"account":"acme","campaign":"c"}`:        `404 {"code":"not_found","message":"account \"acme\" has no campaign \"c\" in its budgets`,
		`{"account":"acme2","campaign":"x"}`:       `the account has \"b\"`,
		`{"account":"acme","campaign":"brand"}`:    `404 {"code":"not_found","message":"\"brand\" is a shared budget of account \"acme\"`,
		`{"account":"none"}`:                       `404 {"code":"not_found","message":"account \"none\" is not paced, because it has no budgets`,
		`{"account":"acme","max_staleness_ms":-1}`: `400 {"code":"invalid_argument","message":"max_staleness_ms`,
	} {
		if status, answer := post(t, h, getPacing, body); !strings.Contains(fmt.Sprint(status, " ", answer), want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, answer := post(t, mustNew(t, config()).dataHandler(), getPacing, `{"account":"acme"}`); status != 501 || !strings.Contains(answer, "the role pacing") {
		t.Errorf("without packs: %d %s", status, answer)
	}
}

// TestNotPaced: an account with budgets and without packs has the reason.
func TestNotPaced(t *testing.T) {
	budgets := &fakeBudgets{}
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, d := range []*budget.Document{{Account: "later", Version: 1, EffectiveMs: later.UnixMilli()}, {Account: "soon", Version: 1}} {
		if err := budgets.Produce(t.Context(), []*budget.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	s := mustNew(t, pacingConfig(newPackState(t), budgets))
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	for account, want := range map[string]string{
		"later": "its budgets hold from " + later.UTC().Format(time.RFC3339), "soon": "has budgets and is not paced yet: ask again in ten seconds",
	} {
		if _, err := c.GetPacing(t.Context(), &weirpb.GetPacingRequest{Account: account}); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", account, err)
		}
	}
}

// TestNoBudget: each answer has the reasons of the pack. No budgets are read for them.
func TestNoBudget(t *testing.T) {
	before, ended := node("before", "no_budget", 1), node("ended", "no_budget", 1)
	before.NoBudget, before.NextFlight, ended.NoBudget = "no_flight", 2026_12_24, "no_flight"
	m := pack("acme", 0, 1, 0, before, ended)
	m.Shared = []*eventspb.PacedNode{node("brand", "no_budget", 1)}
	m.Shared[0].NoBudget = "amount_zero"
	s := mustNew(t, pacingConfig(newPackState(t, m), &fakeBudgets{err: errors.New("the budgets are read")}))
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	one, err := c.GetPacing(t.Context(), &weirpb.GetPacingRequest{Account: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListPacing(t.Context(), &weirpb.ListPacingRequest{Campaign: "before"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range slices.Concat(one.Pacing.Campaigns, one.Pacing.Shared, list.Accounts[0].Campaigns) {
		got = append(got, b.Id+" "+b.NoBudget+" "+b.NextFlight)
	}
	if want := []string{"before no_flight 2026-12-24", "ended no_flight ", "brand amount_zero ", "before no_flight 2026-12-24"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestListPacing reads the accounts in pages of any size, all of them or those that have a
// campaign. An account of several parts is whole, wherever a page of the state ends.
func TestListPacing(t *testing.T) {
	var list []*eventspb.AccountPack
	for i := range 23 {
		account, parts := fmt.Sprintf("a%02d", i), int32(i%4+1)
		for part := range parts {
			campaign := node(fmt.Sprintf("c%d", part), "behind_plan", 0.5)
			list = append(list, pack(account, part, parts, 0, campaign))
		}
	}
	cfg := pacingConfig(newPackState(t, list...), &fakeBudgets{})
	read := func(t *testing.T, limit int32, campaign string, most int) (all []string, pages int) {
		t.Helper()
		s := &pacingService{packs: cfg.Packs, budgets: cfg.Budgets, most: most}
		req := &weirpb.ListPacingRequest{Limit: limit, Campaign: campaign}
		for ; ; pages++ {
			res, err := s.ListPacing(t.Context(), connect.NewRequest(req))
			if err != nil || pages > 200 || limit > 0 && len(res.Msg.Accounts) > int(limit) {
				t.Fatalf("limit %d, page %d: %v, %v", limit, pages, res, err)
			}
			for _, p := range res.Msg.Accounts {
				if want := campaign != ""; want != (len(p.Campaigns) == 1) || len(p.Shared) != 0 {
					t.Fatalf("%v", p)
				}
				all = append(all, fmt.Sprintf("%s %d", p.Account, p.Counts.Campaigns))
			}
			if req.PageToken = res.Msg.NextPageToken; req.PageToken == "" {
				slices.Sort(all)
				return all, pages + 1
			}
		}
	}
	want := map[string][]string{}
	for i := range 23 {
		for campaign, least := range map[string]int{"": 0, "c0": 0, "c1": 1, "c3": 3} {
			if i%4 >= least {
				want[campaign] = append(want[campaign], fmt.Sprintf("a%02d %d", i, i%4+1))
			}
		}
	}
	for _, campaign := range []string{"", "c0", "c1", "c3", "none"} {
		for _, limit := range []int32{0, 1, 2, 3, 7, 23, 24} {
			if all, _ := read(t, limit, campaign, listBytes); !slices.Equal(all, want[campaign]) {
				t.Errorf("%q, limit %d: %q", campaign, limit, all)
			}
		}
		if all, pages := read(t, 0, campaign, 1); !slices.Equal(all, want[campaign]) || pages < fakePartitions {
			t.Errorf("%q: after %d short pages: %q", campaign, pages, all)
		}
	}
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	res, err := c.ListPacing(t.Context(), &weirpb.ListPacingRequest{Campaign: "c0", Limit: 2})
	if err != nil || len(res.Accounts) != 2 || res.NextPageToken == "" {
		t.Fatalf("%v, %v", res, err)
	}
	for _, req := range []*weirpb.ListPacingRequest{
		{Limit: -1},
		{Limit: MaxPacedAccounts + 1},
		{Campaign: "a\x00"},
		{MaxStalenessMs: -1},
		{PageToken: "x"},
		{PageToken: res.NextPageToken, Campaign: "c1"},
		{PageToken: position{partition: fakePartitions}.token(0)},
	} {
		if _, err := c.ListPacing(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// TestPacingStatus counts the campaigns of each partition in the process that has it. A partition
// that no process can read is a gap, and does not hide the others.
func TestPacingStatus(t *testing.T) {
	account := func(p int32, n int) string {
		for i := 0; ; i++ {
			if name := fmt.Sprintf("a%d", i); events.Shard(name, fakePartitions) == p {
				if n--; n < 0 {
					return name
				}
			}
		}
	}
	closed, paused, shared := node("y", "budget_spent", 0.5), node("z", "paused", 0.5), node("s", "", 1)
	closed.Open, shared.State, shared.LimitedBy = false, nil, "brand"
	late := pack(account(1, 1), 1, 2, 5*time.Minute, paused, shared)
	late.WriterDc, late.Dataset, late.SpendAgeMs = "eu", "us", 45_000
	unread := pack(account(1, 0), 0, 1, 0, node("x", "behind_plan", 0.5))
	unread.Unread, unread.SpendAgeMs = true, 0
	unread.Shared = []*eventspb.PacedNode{node("brand", "stale_stop", 0.5), {Id: "none"}}
	mine := newPackState(t, unread, pack(account(1, 1), 0, 2, 0, closed), late)
	other := newPackState(t, pack(account(2, 0), 0, 1, 0, node("x", "stale_hold", 0.5)))
	later := time.Now().Add(time.Hour).UnixMilli()
	for n, versions := range [][]int64{{0, later}, {0}, {0, 1, later}, {later}, {0}} { // the first two accounts have packs
		for i, effective := range versions {
			mine.putBudgets(t, &budget.Document{Account: account(1, n), Version: uint64(i + 1), EffectiveMs: effective})
		}
	}
	other.instance = "weir-1"
	mine.parts[2], other.parts[1], mine.parts[3].state = nil, nil, "restoring"
	other.parts[3] = nil

	second := &member{fakeState: other.fakeState, router: NewRouter(RouterConfig{State: other, Peers: &fakePeers{}})}
	cfg := pacingConfig(other, &fakeBudgets{})
	cfg.Packs.State, cfg.Apps = second.router, []App{second.app()}
	server := mustNew(t, cfg)
	run(t, server)

	peers := &fakePeers{list: []Peer{{Instance: "weir-0", Partitions: []int32{0, 1, 3}}, {Instance: "weir-1", Endpoint: server.Addr(), Partitions: []int32{2}}}}
	cfg = pacingConfig(mine, &fakeBudgets{})
	cfg.Packs.State = NewRouter(RouterConfig{State: mine, Peers: peers})
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	res, err := c.GetPacingStatus(t.Context(), &weirpb.GetPacingStatusRequest{})
	if err != nil || len(res.Shards) != 3 || len(res.Gaps) != 1 || res.Gaps[0].Partition != 3 || res.Gaps[0].State != "restoring" {
		t.Fatalf("%v, %v", res, err)
	}
	if empty := res.Shards[0]; empty.Partition != 0 || empty.Accounts != 0 || empty.Counts.Campaigns != 0 || empty.OldestAccount != "" {
		t.Errorf("%v", empty)
	}
	one := res.Shards[1]
	if n := one.Counts; one.Accounts != 2 || n.Campaigns != 4 || n.Open != 2 || n.Limited != 1 ||
		!maps.Equal(n.Reasons, map[string]int64{"behind_plan": 1, "budget_spent": 1, "paused": 1, "no_own_budget": 1}) {
		t.Errorf("%v", one)
	}
	if one.Unread != 1 || one.OldestAccount != account(1, 1) || one.OldestAgeMs < 300_000 || one.OldestAgeMs > 400_000 || one.SpendAgeMs != 45_000 ||
		!slices.Equal(one.WriterDcs, []string{"eu", "us"}) || !slices.Equal(one.Datasets, []string{"eu", "us"}) || one.AsOf.ServedBy.Instance != "weir-0" {
		t.Errorf("%v", one)
	}
	if one.NotPaced != 2 || one.NotPacedAccount != min(account(1, 2), account(1, 4)) || res.Shards[2].NotPaced != 0 {
		t.Errorf("not paced: %v", one)
	}
	if !maps.Equal(one.SharedReasons, map[string]int64{"stale_stop": 1}) {
		t.Errorf("shared budgets: %v", one.SharedReasons)
	}
	if two := res.Shards[2]; two.Partition != 2 || two.Counts.Reasons["stale_hold"] != 1 || two.AsOf.ServedBy.Instance != "weir-1" {
		t.Errorf("%v", two)
	}
	if _, err := c.GetPacingStatus(t.Context(), &weirpb.GetPacingStatusRequest{Partition: new(int32(fakePartitions))}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("%v", err)
	}
}
