package pack

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// BenchmarkTick is a tick of many accounts of 100 campaigns: Prepare, Step, the packs that are
// written, and the recorded tick.
//
// ns/campaign is of one core; B/campaign is the memory of the accounts.
func BenchmarkTick(b *testing.B) {
	const (
		size     = 100
		accounts = 500
	)
	pacer := control.NewPacer(control.Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list := make([]*Account, accounts)
	for i := range list {
		var campaigns []budget.Campaign
		for n := range size {
			campaigns = append(campaigns, budget.Campaign{ID: fmt.Sprintf("campaign-%07d", i*size+n), Limit: daily(100)})
		}
		list[i] = New(fmt.Sprintf("account-%05d", i), pacer)
		list[i].SetVersions(budget.Versions{}.Add(document(b, 1, nil, campaigns...)))
		list[i].Prepare(noon())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	rows := make([]Row, size)
	written := 0
	at, ticks := noon(), 0
	b.ResetTimer()
	for b.Loop() {
		if ticks%(accounts*size) == 0 {
			at += tickMs
		}
		if ticks%size == 0 {
			a := list[ticks/size%accounts]
			q, _ := a.Prepare(at)
			for i := range rows {
				rows[i] = Row{Campaign: a.doc.Campaigns[i].ID, Day: day1, Currency: "EUR", Micros: 10e6 + (at-noon())*int64(i+1)/100}
			}
			for i := range rows {
				q.Sums.AddToday(&rows[i])
			}
			for _, part := range a.Step(&Signals{AtMs: at, Query: q, Complete: true, Recorded: &eventspb.AccountTick{}}) {
				a.Pack(part)
				written += size
			}
		}
		ticks++
	}
	b.ReportMetric(float64(written)/float64(ticks), "written/campaign")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(accounts*size), "B/campaign")
	runtime.KeepAlive(list)
}
