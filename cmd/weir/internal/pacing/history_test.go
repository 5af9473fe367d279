package pacing

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/pacing/replay"
)

// recorded returns records of the ticks of accounts with a campaign, in 20 minutes. In each tick a
// campaign spends 0.01.
func recorded(t *testing.T, from time.Time, campaigns map[string]string) (records [][]byte) {
	t.Helper()
	accounts := map[string]*pack.Account{}
	for account, campaign := range campaigns {
		d, err := budget.FromRecord((&budget.Document{
			Account: account, Version: 1, Zone: "UTC", Currency: "EUR", Campaigns: []budget.Campaign{
				{ID: campaign, Limit: budget.Limit{Kind: budget.Daily, Micros: 100e6}, Arms: []budget.Arm{{ID: "x", PPM: 500_000}, {ID: "y", PPM: 500_000}}},
				{ID: "other", Limit: budget.Limit{Kind: budget.Daily, Micros: 10e6}},
			},
		}).Record())
		if err != nil {
			t.Fatal(err)
		}
		accounts[account] = pack.New(account, control.NewPacer(control.Config{}))
		accounts[account].SetVersions(budget.Versions{}.Add(d))
	}
	for i := range int64(120) {
		m := &eventspb.PacingSignals{WriterDc: "eu", OwnerEpoch: 1}
		for account, a := range accounts {
			at := from.UnixMilli() + 10_000*i
			q, _ := a.Prepare(at)
			q.Sums.AddToday(&pack.Row{Campaign: campaigns[account], Day: q.Day, Currency: "EUR", Micros: 10_000 * i})
			tick := &eventspb.AccountTick{}
			a.Step(&pack.Signals{AtMs: at, Query: q, AgeMs: 1000, Recorded: tick})
			m.Ticks = append(m.Ticks, tick)
		}
		value, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, value)
	}
	return records
}

// TestHistory: the rows are those of the campaign and of its arms, of each account that has it,
// with the last tick of each period from the begin on, and with what was spent in the period.
func TestHistory(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	records := recorded(t, noon, map[string]string{"bolt": "spring", "acme": "spring", "cove": "autumn"})
	r := history{campaign: "spring", every: time.Minute, from: noon.Add(10 * time.Minute), accounts: map[string]*accountHistory{}}
	for _, value := range append(records, []byte("garbage")) {
		if err := r.add(value); (err != nil) != (string(value) == "garbage") {
			t.Fatal(err)
		}
	}
	rows, stats := r.end()
	if len(rows) != 2*10*3 || stats.Wrong != 0 || stats.Skipped != 0 {
		t.Fatalf("%d rows, %+v", len(rows), stats)
	}
	for i, m := range rows {
		account, arm, minute := []string{"acme", "bolt"}[i/30], []string{"", "x", "y"}[i%3], 10+i%30/3
		at := noon.Add(time.Duration(minute)*time.Minute + 50*time.Second).Format(time.RFC3339)
		if m.Account != account || m.Campaign != "spring" || m.Arm != arm || m.At != at || m.Currency != "EUR" || m.OtherProbability != nil || m.Planned == "" {
			t.Errorf("row %d: %+v", i, m)
		}
		cost, limit := "0.06", "100.00"
		if arm != "" { // what is not counted by arm is divided by the shares
			cost, limit = "0.03", "50.00"
		}
		if m.Grown != cost || m.Budget != limit {
			t.Errorf("row %d: %s was spent of %s", i, m.Grown, m.Budget)
		}
	}

	one := history{
		account: "bolt", campaign: "spring", every: 10 * time.Second, from: noon.Add(10 * time.Minute),
		rule: control.Dual{}, accounts: map[string]*accountHistory{},
	}
	for _, value := range records[1:] { // without the first whole tick
		if err := one.add(value); err != nil {
			t.Fatal(err)
		}
	}
	rows, stats = one.end()
	if stats.Skipped == 0 || stats.Ticks+stats.Skipped != len(records)-1 || len(rows) == 0 {
		t.Fatalf("%d rows, %+v", len(rows), stats)
	}
	if m := rows[len(rows)-1]; m.Account != "bolt" || m.OtherMultiplier == nil || !(*m.OtherMultiplier < 1) || *m.OtherProbability != 1 {
		t.Errorf("%+v", m)
	}
	unknown := &eventspb.PacingSignals{Ticks: []*eventspb.AccountTick{{
		Account: "bolt", Whole: true, Controller: "learner", Nodes: []*eventspb.NodeTick{},
	}}}
	value, err := proto.Marshal(unknown)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.add(value); !errors.Is(err, replay.ErrTick) {
		t.Errorf("an unknown controller: %v", err)
	}
}
