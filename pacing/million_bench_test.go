package pacing

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
)

// million is the state of a task with 100,000 accounts of ten campaigns.
type million struct {
	budgets, packs []row
	startMs        int64
	now            int64    // Unix ms
	written        float64  // packs
	ids            []string // of the campaigns of an account
}

// row is a row of the state.
type row struct{ key, value []byte }

const (
	millionAccounts  = 100_000
	millionCampaigns = 10 // of an account
)

// millionIDs returns the ids of an account's campaigns.
func millionIDs() (ids []string) {
	for n := range millionCampaigns {
		ids = append(ids, fmt.Sprintf("campaign-%07d", n))
	}
	return ids
}

// spend has a spend of each campaign that grows evenly, each at another rate.
func (m *million) spend(_ context.Context, q SpendQuery, fn func(*pack.Row)) (Reading, error) {
	for i, id := range m.ids {
		row := pack.Row{Campaign: id, Day: q.From, Currency: "EUR", Micros: 10e6 + (m.now-m.startMs)*int64(i+1)/100}
		fn(&row)
	}
	return Reading{Dataset: "eu", Exact: true}, nil
}

// task returns a task that has loaded the state.
func (m *million) task(b *testing.B) *task {
	b.Helper()
	cfg := &ProcessorConfig{DC: "eu", Layout: events.Layout{Shards: 1}, Spend: m.spend}
	x := &task{
		cfg: cfg, packs: packTable(), pacer: control.NewPacer(control.Config{}), accounts: map[string]*pack.Account{}, counts: map[string]int{},
		Task: stream.Task{Range: func(table byte, _, _ []byte, fn func(key, value []byte) error) error {
			for _, r := range map[byte][]row{TableBudgets: m.budgets, TablePacks: m.packs}[table] {
				if err := fn(r.key, r.value); err != nil {
					return err
				}
			}
			return nil
		}},
	}
	if err := x.load(handler{shards: 1, budgets: budgetTable(), changed: x.setVersions}); err != nil {
		b.Fatal(err)
	}
	return x
}

// tick has a tick of all accounts, and returns how long the slowest bucket took.
func (m *million) tick(b *testing.B, x *task) (slowest time.Duration) {
	b.Helper()
	for bucket := range Buckets {
		began := time.Now()
		ticks := x.prepare(bucket, m.now)
		for i := range ticks {
			x.readSpend(b.Context(), &ticks[i])
		}
		var ch stream.Changes
		x.step(stream.Commit{}, &ch, bucket, ticks)
		if err := ch.Err(); err != nil {
			b.Fatal(err)
		}
		m.written += ch.Counts[countPacks]
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// BenchmarkMillion is a tick of a million campaigns on one core, in the worst case, in which every
// pack has moved: the accounts of all buckets are prepared, their spend is taken from memory, they
// are stepped, and their packs are made and encoded. load-s is the time in which a new owner has
// made all of them from the state, with their first tick.
func BenchmarkMillion(b *testing.B) {
	start := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	m := &million{startMs: start, now: start, ids: millionIDs()}
	var campaigns []budget.Campaign
	for _, id := range m.ids {
		campaigns = append(campaigns, budget.Campaign{ID: id, Limit: budget.Limit{Kind: budget.Daily, Micros: 100e6}})
	}
	marshal := func(v proto.Message) []byte {
		value, err := proto.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
	for i := range millionAccounts {
		d := &budget.Document{Account: fmt.Sprintf("account-%06d", i), Version: 1, Zone: "UTC", Currency: "EUR", Campaigns: campaigns}
		m.budgets = append(m.budgets, row{budget.AppendKey(nil, d.Account, d.Version), marshal(d.Record())})
	}
	x := m.task(b)
	for range 2 { // the second has the cost of a tick
		m.now += control.Tick.Milliseconds()
		m.tick(b, x)
	}
	for _, a := range x.accounts {
		m.packs = append(m.packs, row{AppendPackKey(nil, a.Name(), 0), marshal(a.Pack(0))})
	}

	x = nil
	before := heap()
	began := time.Now()
	x = m.task(b)
	m.now += control.Tick.Milliseconds()
	m.tick(b, x) // makes the nodes
	loaded := time.Since(began)
	used := heap() - before
	var slowest time.Duration
	m.written = 0
	b.ResetTimer()
	ticks := 0
	for b.Loop() {
		m.now += control.Tick.Milliseconds()
		slowest = max(slowest, m.tick(b, x))
		ticks++
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(ticks), "s/tick")
	b.ReportMetric(slowest.Seconds()*1000, "slowest-bucket-ms")
	b.ReportMetric(loaded.Seconds(), "load-s")
	b.ReportMetric(float64(used)/(millionAccounts*millionCampaigns), "B/campaign")
	b.ReportMetric(m.written/float64(ticks)/millionAccounts, "packs/account/tick")
	runtime.KeepAlive(x)
}

// heap returns the bytes of live objects.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
