package pacing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
)

const shards = 3

// packState is the state of pacing in memory: all partitions but one that is restoring.
type packState struct {
	api.StateSource // of its methods, only those below are called
	packs           map[string][]byte
	restoring       int32 // -1: none
}

// Info implements api.StateSource.
func (*packState) Info() api.StateInfo { return api.StateInfo{App: "pacing", Instance: "weir-0"} }

// Page implements api.StateSource. It has one page.
func (s *packState) Page(_ context.Context, q api.PageQuery) (*api.Page, error) {
	if q.Partition == s.restoring {
		return nil, &api.PartitionsError{Gaps: []api.PartitionGap{{Partition: q.Partition, State: "restoring", Reason: "42 % done"}}}
	}
	if q.Table != pacing.TablePacks { // no account has budgets without packs
		return &api.Page{AsOf: &weirpb.AsOf{Partition: q.Partition}}, nil
	}
	page := &api.Page{AsOf: &weirpb.AsOf{Partition: q.Partition, ServedBy: &weirpb.ServedBy{Instance: "weir-0", Role: "owner"}}}
	for _, key := range slices.Sorted(maps.Keys(s.packs)) {
		account, _, err := pacing.ParsePackKey([]byte(key))
		if err != nil {
			return nil, err
		}
		if events.Shard(account, shards) == q.Partition && key >= string(q.From) && (q.To == nil || key < string(q.To)) {
			page.Entries = append(page.Entries, api.Entry{Key: []byte(key), Value: s.packs[key]})
		}
	}
	return page, nil
}

// Peers implements api.PeerSource.
func (*packState) Peers(context.Context) ([]api.Peer, error) { return nil, nil }

// Cluster implements api.ClusterSource.
func (*packState) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return &weirpb.GetClusterResponse{}, nil
}

// noBudgets is an api.BudgetSource of accounts without budgets.
type noBudgets struct{ api.BudgetSource }

// Budgets implements api.BudgetSource.
func (noBudgets) Budgets(context.Context, string, time.Duration) (budget.Versions, *weirpb.AsOf, error) {
	return budget.Versions{}, nil, nil
}

// serve serves packs, and returns the setting of its address.
func serve(t *testing.T, s *packState, list ...*eventspb.AccountPack) []string {
	t.Helper()
	s.packs = map[string][]byte{}
	for _, m := range list {
		value, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		s.packs[string(pacing.AppendPackKey(nil, m.GetAccount(), int(m.GetPart())))] = value
	}
	router := api.NewRouter(api.RouterConfig{State: s, Peers: s})
	t.Cleanup(router.Close)
	server := clitest.Serve(t, api.Config{Cluster: s, Budgets: noBudgets{}, Packs: &api.PackReader{State: router, Shards: shards}})
	return []string{"WEIR_SERVER=" + server.Addr()}
}

// pack is the pack of an account whose campaigns are behind their plan.
func newPack(account string, campaigns ...string) *eventspb.AccountPack {
	m := &eventspb.AccountPack{
		Account: account, Parts: 1, WriterDc: "us", Version: 3, Currency: "EUR", BudgetDay: 2026_11_27, AtMs: time.Now().UnixMilli(), Dataset: "us",
	}
	for _, id := range campaigns {
		m.Campaigns = append(m.Campaigns, &eventspb.PacedNode{
			Id: id, Open: true, Probability: 0.125, Multiplier: 1, Reason: "behind_plan", BudgetMicros: 100_000_000, SpentMicros: 30_000_000,
			State: &eventspb.PaceState{Budget: 100_000_000, Planned: 0.375},
		})
	}
	return m
}

// TestShow explains a campaign of one account, and lists several in a table. What does not exist is
// an error with what to do.
func TestShow(t *testing.T) {
	env := serve(t, &packState{restoring: -1}, newPack("acme", "autumn", "spring"), newPack("bcme", "spring"), newPack("ccme", "winter"))
	const sentence = " takes part in 12.5 % of auctions with full bids.\nIt has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): " +
		"it is behind its plan, and its probability follows the rest of the budget.\nas of "
	const head = "account,campaign,arm,shared_budget,open,probability"
	for _, c := range []struct {
		line string
		code int
		want []string
	}{
		{"autumn", 0, []string{"autumn of acme" + sentence}},
		{"spring --account bcme", 0, []string{"spring of bcme" + sentence}},
		{"spring", 0, []string{"\nacme     spring ", "\nbcme     spring "}},
		{"spring --account bcme -o wide", 0, []string{"spring of bcme" + sentence, "\n\naccount  campaign"}},
		{"--account acme", 0, []string{"\nacme     autumn ", "\nacme     spring "}},
		{"spring -o csv", 0, []string{head, "\nacme,spring,,,true,0.125,1,behind_plan,,,EUR,100000000,30000000,37500000,", "\nbcme,spring,"}},
		{"spring --account bcme -o jsonl", 0, []string{`{"account":"bcme","campaign":"spring"`, `"explanation":"spring of bcme takes part in 12.5 %`}},
		{"summer", cli.ExitFailed, []string{`no account that is paced has a campaign "summer"`, "weir budget set"}},
		{"spring --account ccme", cli.ExitFailed, []string{`account "ccme" has no campaign "spring"`, `the account has "winter"`}},
		{"spring --account none", cli.ExitFailed, []string{`account "none" is not paced, because it has no budgets`, "weir budget set"}},
		{"", cli.ExitUsage, []string{"neither a campaign nor an account"}},
		{"a b", cli.ExitUsage, []string{"not expected"}},
	} {
		r := clitest.Run(t, Commands, env, append([]string{"pacing", "show"}, strings.Fields(c.line)...)...)
		for _, want := range c.want {
			if r.Code != c.code || !strings.Contains("\n"+r.Stdout+r.Stderr, want) {
				t.Errorf("show %s: code %d, no %q in\n%s%s", c.line, r.Code, want, r.Stdout, r.Stderr)
			}
		}
	}
	r := clitest.Run(t, Commands, env, "pacing", "show", "--account", "acme", "-o", "json")
	var rows []map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &rows); err != nil || len(rows) != 2 || rows[1]["campaign"] != "spring" || rows[1]["allowance_micros"] != nil {
		t.Errorf("%v, %+v", err, r)
	}
	r = clitest.Run(t, Commands, serve(t, &packState{restoring: 1}), "pacing", "show", "spring")
	if r.Code != cli.ExitUnavailable || !strings.Contains(r.Stderr, "partition 1 is restoring") {
		t.Errorf("%+v", r)
	}
}

// TestStatus: each shard has a line, also one that cannot be read.
func TestStatus(t *testing.T) {
	list := []*eventspb.AccountPack{newPack("acme", "autumn", "spring"), newPack("bcme", "spring")}
	list[1].Campaigns[0].Reason, list[1].Campaigns[0].Open = "budget_spent", false
	env := serve(t, &packState{restoring: -1}, list...)
	r := clitest.Run(t, Commands, env, "pacing", "status", "-o", "json")
	var rows []struct {
		Shard                     int32
		State, Owner, Problem     string
		Accounts, Campaigns, Open int64
		Reasons                   map[string]int64
	}
	if err := json.Unmarshal([]byte(r.Stdout), &rows); err != nil || r.Code != 0 || len(rows) != shards {
		t.Fatalf("%v, %+v", err, r)
	}
	at := events.Shard("acme", shards)
	if one := rows[at]; one.Shard != at || one.Owner != "weir-0" || one.Accounts == 0 || one.Campaigns < 2 || one.Reasons["behind_plan"] != 2 || one.Problem != "" {
		t.Errorf("%+v", one)
	}
	if want := "accounts: 2; campaigns: 3; that take part in auctions: 2"; !strings.Contains(r.Stderr, want) {
		t.Errorf("no %q in %s", want, r.Stderr)
	}
	env = serve(t, &packState{restoring: at}, list...)
	r = clitest.Run(t, Commands, env, "pacing", "status")
	if r.Code != 0 || !strings.Contains(r.Stdout, "42 % done") || !strings.Contains(r.Stderr, fmt.Sprintf("shards with a problem: 1 of %d", shards)) {
		t.Errorf("%+v", r)
	}
}
