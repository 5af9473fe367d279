package pacing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
)

// takeBilled returns the records that were committed since the last call.
func (x *pacedTask) takeBilled() (list []string) {
	x.t.Helper()
	for _, c := range x.TakeOutputs() {
		if c.To.Output.Name != billedOutput {
			continue
		}
		m := &eventspb.BilledSpend{}
		if err := proto.Unmarshal(c.Value, m); err != nil {
			x.t.Fatal(err)
		}
		if c.To.Output.Topic != events.SpendBilledTopic || string(c.Key) != m.GetAccount() || m.GetWriterDc() != "eu" ||
			m.GetDataset() != "eu" || c.To.TimeMs != m.GetAtMs() {
			x.t.Errorf("%+v %v", c, m)
		}
		list = append(list, fmt.Sprintf("%s %d %s %d of %d", m.GetAccount(), m.GetBudgetDay(), m.GetCampaign(), m.GetBilledMicros()/1e6, m.GetSpentMicros()/1e6)+map[bool]string{true: " gone"}[m.GetGone()])
	}
	return list
}

// openDays returns the rows of days: the budgets of those that are not billed, and the last one
// that is billed.
func (x *pacedTask) openDays() string {
	var list []string
	for key, value := range x.Table(TableDays) {
		account, day, err := ParseDayKey([]byte(key))
		m := &eventspb.DayBudgets{}
		if err := errors.Join(err, proto.Unmarshal(value, m)); err != nil {
			x.t.Fatal(err)
		}
		if m.GetBilled() {
			list = append(list, fmt.Sprintf("%s %d", account, day))
			continue
		}
		list = append(list, fmt.Sprintf("%s %d: %d", account, day, m.GetCampaigns()[0].GetLimits()[0].GetDayMicros()/1e6))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// wait lets time pass in which nothing commits.
func (x *pacedTask) wait(d time.Duration) { <-time.After(d) }

// billedConfig bills days two hours after they have ended. Simulated time begins on 2000-01-01.
func billedConfig() ProcessorConfig { return ProcessorConfig{BillAfter: 2 * time.Hour} }

// spendOn sets the spend of campaign c on days.
func (x *pacedTask) spendOn(account string, units map[events.Day]int64) {
	x.spend.do(func() {
		rows := []pack.Row{}
		for day, n := range units {
			rows = append(rows, pack.Row{Campaign: "c", Day: day, Currency: "EUR", Micros: n * 1e6})
		}
		x.spend.rows[account] = rows
	})
}

// TestBilledOnce: a day is billed once, by the greatest budget of the day, from BillAfter on,
// whatever transactions are aborted and processes take over.
func TestBilledOnce(t *testing.T) {
	inBubbleWith(t, billedConfig(), []string{"acme", "more"}, func(x *pacedTask) {
		x.spendOn("acme", map[events.Day]int64{2000_01_01: 120, 2000_01_02: 70})
		x.run(30)
		x.setBudget("acme", 2, 50)
		x.run(30)
		x.Crash()
		x.setBudget("acme", 3, 110)
		x.run(30)
		if got, want := x.openDays(), "acme 20000101: 110, more 20000101: 100"; got != want {
			t.Errorf("rows %q, want %q", got, want)
		}
		x.wait(25*time.Hour + 55*time.Minute)
		x.run(120)
		if got := x.takeBilled(); len(got) > 0 {
			t.Errorf("billed early: %q", got)
		}
		if got, want := x.openDays(), "acme 20000101: 110, acme 20000102: 110, more 20000101: 100, more 20000102: 100"; got != want {
			t.Errorf("rows %q, want %q", got, want)
		}
		x.wait(2 * time.Minute)
		got := x.takeBilled()
		for n := 57; n < 66; n++ { // each of the steps of billing is aborted
			x.run(n)
			x.second()
			x.Abort(time.Now().UnixMilli())
			got = append(got, x.takeBilled()...)
		}
		for range 4 {
			x.run(150)
			x.Crash()
			got = append(got, x.takeBilled()...)
		}
		slices.Sort(got)
		if want := []string{"acme 20000101  110 of 120", "acme 20000101 c 110 of 120", "more 20000101  0 of 0"}; !slices.Equal(got, want) {
			t.Errorf("billed %q, want %q", got, want)
		}
		if got, want := x.openDays(), "acme 20000101, acme 20000102: 110, more 20000101, more 20000102: 100"; got != want {
			t.Errorf("rows %q, want %q", got, want)
		}
	})
}

// TestBilledLate: days on which nothing was paced are billed by the budgets of the next tick, and
// a day waits until its spend can be read.
func TestBilledLate(t *testing.T) {
	var problems []string
	cfg := billedConfig()
	cfg.Problem = func(account string, err error) { problems = append(problems, account+": "+err.Error()) }
	inBubbleWith(t, cfg, []string{"acme"}, func(x *pacedTask) {
		x.spendOn("acme", map[events.Day]int64{2000_01_01: 90, 2000_01_02: 110, 2000_01_03: 120, 2000_01_04: 1})
		x.run(20)
		x.spend.do(func() { x.spend.reading = &Reading{Dataset: "us", Age: time.Second} }) // a merge
		x.wait(3*24*time.Hour + 12*time.Hour)
		x.run(150)
		x.spend.do(func() { x.spend.reading = &Reading{Dataset: "us", Exact: true} })
		x.run(150)
		until := time.Date(2000, 1, 2, 2, 0, 0, 0, time.UTC).UnixMilli() // two hours after the end of the day
		x.spend.do(func() { x.spend.reading = &Reading{Dataset: "us", Exact: true, CompleteMs: until - 1000} })
		x.run(150)
		x.spend.do(func() { x.spend.err = errors.New("no cache") })
		x.run(150)
		if got := x.takeBilled(); len(got) > 0 {
			t.Errorf("billed without spend: %q", got)
		}
		for _, want := range []string{
			"acme: 2000-01-01 is not billed yet: no dataset of the spend is healthy", "acme: 2000-01-01 is not billed yet: no cache",
			"acme: 2000-01-01 is not billed yet: the spend lacks the events of a datacentre",
			"acme: 2000-01-01 is not billed yet: the spend has the events until 2000-01-02T01:59:59Z, and those until 2000-01-02T02:00:00Z are needed",
		} {
			if !slices.Contains(problems, want) {
				t.Errorf("problems %q lack %q", problems, want)
			}
		}
		x.spend.do(func() { x.spend.err, x.spend.reading = nil, nil })
		x.run(300)
		want := []string{
			"acme 20000101 c 90 of 90", "acme 20000101  90 of 90", "acme 20000102 c 100 of 110", "acme 20000102  100 of 110",
			"acme 20000103 c 100 of 120", "acme 20000103  100 of 120",
		}
		if got := x.takeBilled(); !slices.Equal(got, want) || x.openDays() != "acme 20000103, acme 20000104: 100" {
			t.Errorf("billed %q, want %q; open %s", got, want, x.openDays())
		}
	})
}

// TestBilledLifetime: what the days before have spent counts against a lifetime budget, once.
func TestBilledLifetime(t *testing.T) {
	inBubbleWith(t, billedConfig(), []string{"acme"}, func(x *pacedTask) {
		x.set(&budget.Document{
			Account: "acme", Version: 2, Zone: "UTC", Currency: "EUR",
			Campaigns: []budget.Campaign{{ID: "c", Limit: budget.Limit{Kind: budget.Lifetime, Micros: 100e6}}},
		})
		x.spendOn("acme", map[events.Day]int64{1999_12_31: 10, 2000_01_01: 80, 2000_01_02: 50, 2000_01_03: 3})
		for range 3 {
			x.run(20)
			x.wait(24 * time.Hour)
		}
		x.run(300)
		want := []string{
			"acme 20000101 c 80 of 80", "acme 20000101  80 of 80", "acme 20000102 c 10 of 50", "acme 20000102  10 of 50",
			"acme 20000103 c 0 of 3", "acme 20000103  0 of 3",
		}
		x.wait(3 * time.Hour)
		x.run(300)
		if got := x.takeBilled(); !slices.Equal(got, want) {
			t.Errorf("billed %q, want %q", got, want)
		}
	})
}

// TestBilledGone: a day whose spend is no longer kept is reported, and has a record without
// amounts.
func TestBilledGone(t *testing.T) {
	var problems []string
	cfg := billedConfig()
	cfg.Problem = func(account string, err error) { problems = append(problems, account+": "+err.Error()) }
	inBubbleWith(t, cfg, []string{"acme"}, func(x *pacedTask) {
		x.spendOn("acme", map[events.Day]int64{2000_01_02: 7})
		x.run(20)
		x.spend.do(func() {
			x.spend.reading = &Reading{Dataset: "eu", Exact: true, CompleteMs: math.MaxInt64, Closed: 2000_01_01}
		})
		x.wait(3 * 24 * time.Hour)
		x.run(200)
		want := []string{"acme: 2000-01-01 is not billed: its spend is no longer kept by day, see spend.retention"}
		if !slices.Equal(problems, want) {
			t.Errorf("problems %q, want %q", problems, want)
		}
		if got := strings.Join(x.takeBilled(), ", "); got != "acme 20000101  0 of 0 gone, acme 20000102 c 7 of 7, acme 20000102  7 of 7" {
			t.Errorf("billed %s", got)
		}
		if x.Count(countGone) != 1 || x.Count(countBilled) != 1 {
			t.Errorf("counted %g gone, %g billed", x.Count(countGone), x.Count(countBilled))
		}
	})
}

// TestBilledQuiet: a shard without events gets a heartbeat, so that its days are billed, unless the
// mirror writes them.
func TestBilledQuiet(t *testing.T) {
	for _, peers := range [][]string{nil, {"eu"}, {"eu", "us"}} {
		cfg := billedConfig()
		cfg.Peers = peers
		inBubbleWith(t, cfg, []string{"acme"}, func(x *pacedTask) {
			x.run(20)
			x.spend.do(func() { x.spend.reading = &Reading{Dataset: "eu", Exact: true, CompleteMs: 1} })
			x.wait(27 * time.Hour)
			x.run(70)
			beats := 0
			for _, c := range x.TakeOutputs() {
				if c.To.Output.Name != heartbeatsOutput {
					continue
				}
				m := &eventspb.AdEvent{}
				if err := proto.Unmarshal(c.Value, m); err != nil {
					t.Fatal(err)
				}
				age := time.Since(time.UnixMilli(m.GetIngestMs()))
				if c.To.Output.Topic != events.EventsTopic || m.GetType() != eventspb.EventType_EVENT_TYPE_HEARTBEAT || age < 0 || age > 2*time.Minute {
					t.Errorf("%+v %v", c, m)
				}
				beats++
			}
			if (beats > 0) != (len(peers) < 2) {
				t.Errorf("%d heartbeats with the datacentres %q", beats, peers)
			}
		})
	}
}

// TestBilledClock: a clock that is set back bills no day again, and one that was far ahead loses
// none.
func TestBilledClock(t *testing.T) {
	cfg := billedConfig()
	cfg.Layout = events.Layout{Shards: 1}
	x := newTask(&cfg, stream.Task{Get: func(byte, []byte) ([]byte, error) { return nil, nil }})
	a := x.add("acme")
	a.SetVersions(budget.Versions{List: []*budget.Document{{
		Account: "acme", Version: 1, Zone: "UTC", Currency: "EUR", Campaigns: []budget.Campaign{{ID: "c", Limit: budget.Limit{Kind: budget.Daily}}},
	}}})
	for _, c := range []struct {
		day    events.Day
		rows   int
		at     int        // place of a row
		want   events.Day // its day
		billed events.Day // becomes billed before
	}{
		{2000_01_02, 1, 0, 2000_01_02, 0},
		{2010_01_01, 33, 1, 2009_12_01, 0},          // far ahead: a month before is noted
		{2000_01_04, 35, 2, 2000_01_04, 0},          // right again
		{2000_01_01, 36, 0, 2000_01_01, 0},          // set back, and nothing is billed yet
		{2000_01_02, 36, 0, 2000_01_01, 2000_01_01}, // billed
		{2000_01_01, 36, 0, 2000_01_01, 0},
		{2000_01_03, 35, 0, 2000_01_02, 2000_01_02}, // the last day that is billed keeps its row
		{2000_01_01, 35, 0, 2000_01_02, 0},          // set back to a day that is billed
	} {
		if c.billed > 0 {
			x.billed(&stream.Changes{}, []*dueDay{{account: a, day: c.billed, records: []*eventspb.BilledSpend{{}}}})
		}
		at := time.Date(int(c.day)/10_000, time.Month(c.day/100%100), int(c.day)%100, 1, 0, 0, 0, time.UTC)
		if _, ok := a.Prepare(at.UnixMilli()); !ok {
			t.Fatal(a.Err())
		}
		x.noteDay(&stream.Changes{}, a)
		if len(a.days) != c.rows || a.days[c.at].day != c.want {
			t.Errorf("on %s there are %d rows, %v", c.day, len(a.days), a.days[:min(len(a.days), 4)])
		}
	}
}
