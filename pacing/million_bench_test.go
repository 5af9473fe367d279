package pacing

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/billing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
)

const (
	millionAccounts  = 100_000
	millionCampaigns = 10 // of an account
	millionBudget    = 100e6
)

// million is 100,000 accounts of ten campaigns, and their tasks: one for each core.
type million struct {
	states  []millionState
	tasks   []*task
	base    int64 // memory without tasks; 0: not measured
	startMs int64
	now     int64    // Unix ms
	ids     []string // of the campaigns of an account
	behind  bool     // the spend is far below each plan
}

// millionState is the state of a task.
type millionState struct{ budgets, packs, days []row }

// row is a row of the state.
type row struct{ key, value []byte }

// newMillion returns the accounts, with the packs of their second tick as the state of the tasks.
func newMillion(b *testing.B) *million {
	b.Helper()
	start := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	m := &million{startMs: start, now: start, states: make([]millionState, runtime.GOMAXPROCS(0))}
	var campaigns []budget.Campaign
	for n := range millionCampaigns {
		id := fmt.Sprintf("campaign-%07d", n)
		m.ids = append(m.ids, id)
		campaigns = append(campaigns, budget.Campaign{ID: id, Limit: budget.Limit{Kind: budget.Daily, Micros: millionBudget}})
	}
	marshal := func(v proto.Message) []byte {
		value, err := proto.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
	for i := range millionAccounts {
		d := &budget.Document{Account: millionAccount(i), Version: 1, Zone: "UTC", Currency: "EUR", Campaigns: campaigns}
		s := &m.states[i%len(m.states)]
		s.budgets = append(s.budgets, row{budget.AppendKey(nil, d.Account, d.Version), marshal(d.Record())})
		day := events.DayOf(start, time.UTC)
		s.days = append(s.days, row{AppendDayKey(nil, d.Account, day), marshal(billing.Note(nil, d, day, time.UTC))})
	}
	m.load(b)
	for range 2 { // the second has the cost of a tick
		m.tick(b)
	}
	for i, x := range m.tasks {
		for _, a := range x.accounts {
			m.states[i].packs = append(m.states[i].packs, row{AppendPackKey(nil, a.Name(), 0), marshal(a.Pack(0))})
		}
	}
	return m
}

func millionAccount(n int) string { return fmt.Sprintf("account-%06d", n) }

// spend calls fn with the spend of each campaign.
func (m *million) spend(_ context.Context, q SpendQuery, fn func(*pack.Row)) (Reading, error) {
	for i, id := range m.ids {
		row := pack.Row{Campaign: id, Day: q.From, Currency: "EUR", Micros: 10e6 + (m.now-m.startMs)*int64(i+1)/100}
		if m.behind {
			row.Micros = 10e6 + (m.now-m.startMs)*int64(i+1)/10_000
		}
		fn(&row)
	}
	return Reading{Dataset: "eu", Exact: true}, nil
}

// each runs f for each task, each in a goroutine of its own.
func (m *million) each(f func(n int)) {
	var running sync.WaitGroup
	for n := range m.states {
		running.Go(func() { f(n) })
	}
	running.Wait()
}

// load makes tasks of the states.
func (m *million) load(b *testing.B) {
	b.Helper()
	m.tasks = make([]*task, len(m.states))
	m.each(func(n int) {
		s := m.states[n]
		cfg := &ProcessorConfig{DC: "eu", Layout: events.Layout{Shards: 1}, Spend: m.spend, BillAfter: 48 * time.Hour}
		x := newTask(cfg, stream.Task{Range: func(table byte, _, _ []byte, fn func(key, value []byte) error) error {
			for _, r := range map[byte][]row{TableBudgets: s.budgets, TablePacks: s.packs, TableDays: s.days}[table] {
				if err := fn(r.key, r.value); err != nil {
					return err
				}
			}
			return nil
		}, Get: func(byte, []byte) ([]byte, error) { return nil, nil }})
		if err := x.load(); err != nil {
			b.Error(err)
		}
		m.tasks[n] = x
	})
}

// tick has a tick of all accounts, and returns how long the slowest bucket took, and the number of
// packs that were written.
func (m *million) tick(b *testing.B) (slowest time.Duration, packs float64) {
	b.Helper()
	m.now += control.Tick.Milliseconds()
	var mu sync.Mutex
	m.each(func(n int) {
		x := m.tasks[n]
		for bucket := range Buckets {
			began := time.Now()
			ticks := x.prepare(bucket, m.now)
			for i := range ticks {
				x.readSpend(context.Background(), &ticks[i])
			}
			var ch stream.Changes
			x.step(stream.Commit{}, &ch, bucket, ticks)
			if err := ch.Err(); err != nil {
				b.Error(err)
			}
			mu.Lock()
			slowest, packs = max(slowest, time.Since(began)), packs+ch.Counts[countPacks]
			mu.Unlock()
		}
	})
	return slowest, packs
}

// report reports an ad of each campaign.
func (m *million) report(sequence uint64) {
	m.each(func(n int) {
		r := &eventspb.InsertionSums{Reporter: "server", Sequence: sequence, AtMs: m.now}
		for _, id := range m.ids {
			r.Campaigns = append(r.Campaigns, &eventspb.CampaignInsertions{Campaign: id, ExpectedMicros: 10_000, Ads: 1})
		}
		for i := n; i < millionAccounts; i += len(m.tasks) {
			r.Account = millionAccount(i)
			m.tasks[n].shown(r)
		}
	})
}

// BenchmarkMillion is a million campaigns on GOMAXPROCS cores, which -cpu does not change. The
// spend is taken from memory, and nothing is written to a store or to Kafka.
//
//   - load: a new owner makes all of them from the state.
//   - first: their first tick, which makes the nodes, and is recorded whole.
//   - moving: a tick in the worst case: a parameter of every account has moved, so that every pack
//     is made and encoded.
//   - reported: the same, where ad servers report ads of all campaigns. Their reports are not
//     measured.
//   - day: the first tick of a budget day, which also writes what the budgets of the day are.
//   - behind: a tick while all campaigns are behind their plans, and take part in every auction. A
//     sixth of the packs is written.
func BenchmarkMillion(b *testing.B) {
	m := newMillion(b)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			m.tasks = nil
			m.load(b)
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/load")
	})
	b.Run("first", func(b *testing.B) {
		m.tasks = nil
		m.base = heap()
		m.ticks(b, func() { m.load(b) })
		m.memory(b)
	})
	for _, of := range []string{"moving", "reported", "day", "behind"} {
		b.Run(of, func(b *testing.B) {
			m.behind = of == "behind"
			if m.behind {
				for range 10 { // until all have a probability of 1
					m.now += 5 * control.Tick.Milliseconds()
					m.tick(b)
				}
			}
			sequence := uint64(0)
			m.ticks(b, func() {
				sequence++
				switch of {
				case "reported":
					m.report(sequence)
				case "day":
					m.now += 24 * time.Hour.Milliseconds()
				}
			})
			m.memory(b)
		})
	}
}

// memory reports the memory of the tasks.
func (m *million) memory(b *testing.B) {
	if m.base > 0 {
		b.ReportMetric(float64(heap()-m.base)/(millionAccounts*millionCampaigns), "B/campaign")
	}
}

// ticks has a tick in each round, and calls before before it, which is not measured.
func (m *million) ticks(b *testing.B, before func()) {
	b.Helper()
	var slowest time.Duration
	written := 0.0
	for b.Loop() {
		b.StopTimer()
		before()
		b.StartTimer()
		of, packs := m.tick(b)
		slowest, written = max(slowest, of), written+packs
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/tick")
	b.ReportMetric(slowest.Seconds()*1000, "slowest-bucket-ms")
	b.ReportMetric(written/float64(b.N)/millionAccounts, "packs/account")
}

// heap returns the bytes of live objects.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
