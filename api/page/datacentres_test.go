package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// withDatacentres gives a process three datacentres, two shards and all roles of ad spend, in which
// all is well.
func withDatacentres(o *Overview) {
	ms := func(before time.Duration) int64 { return o.Now.Add(-before).UnixMilli() }
	o.Cluster.Dc, o.Cluster.Dcs, o.Cluster.Partitions = "eu", []string{"eu", "us=127.0.0.1:9192", "ap"}, 2
	o.Apps, o.HasCache, o.Datasets = []string{"spendcounter", "mirror", "push.eu.us", "push.eu.ap"}, true, nil
	for n := range int32(2) {
		o.Datasets = append(o.Datasets, &weirpb.ShardDatasets{
			Choice: &weirpb.DatasetChoice{Shard: n, Mode: "normal", Dc: "eu", Reason: "eu is the own datacentre", SinceMs: ms(time.Hour)},
			Datasets: []*weirpb.Dataset{
				{Dc: "eu", Chosen: true, Healthy: true, AgeMs: 312, Count_60S: 12_000},
				{Dc: "us", Healthy: true, AgeMs: 1100, Count_60S: 11_990},
				{Dc: "ap", Healthy: true, AgeMs: 1240, Count_60S: 11_985},
			},
		})
		copyOf := func(dc, topic string) *weirpb.CopyStatus {
			return &weirpb.CopyStatus{Dc: dc, Topic: topic, Next: 1000, End: 1003, Lag: 3, LagMs: 120}
		}
		o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{
			App: "mirror", Partition: n, State: "running", Lag: new(int64), Instance: "weir-0",
			Copies: []*weirpb.CopyStatus{
				copyOf("us", "ads.adjustments"), copyOf("us", "ads.events"), copyOf("ap", "ads.adjustments"), copyOf("ap", "ads.events"),
			},
		})
	}
	for _, target := range []string{"ap", "us"} {
		for n := range int32(2) {
			o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{
				App: "push.eu." + target, Partition: n, State: "running", Lag: new(int64), Instance: "weir-0",
				Push: &weirpb.PushStatus{Target: target, Next: 500, End: 501, Lag: 1, AsOfMs: ms(900 * time.Millisecond)},
			})
		}
	}
}

// switched is withDatacentres with a shard that uses another dataset, one without a dataset, and
// copies that are behind, waiting and stopped.
func switched(o *Overview) {
	withDatacentres(o)
	o.Cluster.Partitions, o.Cluster.Dcs = 5, append(o.Cluster.Dcs, "sa")
	d := o.Datasets
	d[0].Datasets[0].Healthy, d[0].Datasets[0].Problem, d[0].Datasets[0].LagMs = false, "eu lags by 5.2 s in the events of us", 5200
	d[0].Datasets[0].Chosen, d[0].Datasets[1].Chosen, d[0].Datasets[2].Deficit, d[0].Datasets[2].Lost = false, true, 0.042, 1204
	d[0].Choice.Dc, d[0].Choice.Reason, d[0].Choice.SinceMs = "us", "eu lags by 5.2 s in the events of us", o.Now.Add(-time.Minute).UnixMilli()
	o.Datasets = append(o.Datasets, &weirpb.ShardDatasets{
		Choice: &weirpb.DatasetChoice{Shard: 2, Mode: "degraded", SinceMs: o.Now.UnixMilli(), Reason: "the newest health record is of us, 95.0 s old: datasets are stale after 30s"},
		Datasets: []*weirpb.Dataset{
			{Dc: "eu", AgeMs: -1, Stale: true, Problem: "no health record of eu is known"},
			{Dc: "us", AgeMs: 95_000, Stale: true, Problem: "the health record of us is 95.0 s old"},
			{Dc: "ap", AgeMs: 99_000, Stale: true, Problem: "the health record of ap is 99.0 s old"},
		},
	})
	p := o.Partitions.Partitions[3:]
	p[0].Copies[0].End, p[0].Copies[0].LagMs = -1, -1
	p[0].Copies[1].Stopped, p[0].Copies[1].Problem = true, "us has lost the offsets from 1000 on"
	p[1].Copies[1].Problem, p[1].Copies[3].LagMs = "us does not answer", 65_000
	p[2].Push.Comparing, p[2].Push.Next = "the copy has no position", -1
	p[3].Push, p[3].State, p[3].Reason = nil, "restoring", "12 records left to read"
}

// compared is the page of a campaign with rows that differ between three datasets.
func compared(account, campaign string) *Spend {
	row := func(day string, charged int64, events uint64) *weirpb.SpendRow {
		return &weirpb.SpendRow{Account: account, Campaign: campaign, Day: day, Currency: "EUR", ChargedMicros: charged, Events: events}
	}
	now := healthy().Now
	return &Spend{
		Now: now, Account: account, Campaign: campaign, Days: []*weirpb.SpendRow{row("2026-11-23", 1_500_000, 2_000), row("2026-11-22", 7_250_000, 9)},
		Datasets: &CampaignDatasets{Now: now, DC: "eu", Shard: &weirpb.ShardDatasets{
			Choice: &weirpb.DatasetChoice{Shard: 7, Mode: "normal", Dc: "us", Reason: "eu lags by 5.2 s in the events of us", SinceMs: now.UnixMilli()},
			Datasets: []*weirpb.Dataset{
				{Dc: "eu", Problem: "eu lags by 5.2 s in the events of us", Rows: []*weirpb.SpendRow{row("2026-11-22", 7_250_000, 9), row("2026-11-23", 1_480_000, 1_990)}},
				{Dc: "us", Healthy: true, Chosen: true, Rows: []*weirpb.SpendRow{row("2026-11-22", 7_250_000, 9), row("2026-11-23", 1_500_000, 2_000)}},
				{Dc: "ap", Healthy: true, Rows: []*weirpb.SpendRow{row("2026-11-22", 7_250_000, 9)}},
				{Dc: "sa", Healthy: true, Unread: "partition 7 of spend.from.sa is loading"},
			},
		}},
	}
}

func hostileShard() *weirpb.ShardDatasets {
	return &weirpb.ShardDatasets{
		Choice: &weirpb.DatasetChoice{Mode: hostile, Dc: hostile, Reason: hostile},
		Datasets: []*weirpb.Dataset{
			{Dc: hostile, Chosen: true, Problem: hostile, Rows: []*weirpb.SpendRow{{Day: hostile, Currency: hostile}, {Day: "x", Currency: "EUR"}}},
			{Dc: "us" + hostile, Unread: hostile},
		},
	}
}

func hostileDatacentres(o *Overview) {
	o.Cluster.Dcs, o.HasCache, o.Datasets = []string{hostile, "x"}, true, []*weirpb.ShardDatasets{hostileShard()}
	o.Apps = append(o.Apps, "mirror", "push."+hostile+".us")
	o.Partitions.Partitions = append(o.Partitions.Partitions,
		&weirpb.Partition{App: "mirror", Copies: []*weirpb.CopyStatus{{Dc: hostile, Topic: hostile, Problem: hostile}}},
		&weirpb.Partition{App: "push." + hostile + "." + hostile, Push: &weirpb.PushStatus{Problem: hostile, Stopped: true}})
}

// TestDatacentres: the page states for how many shards each dataset is chosen, and what of the
// copies is not as it should be.
func TestDatacentres(t *testing.T) {
	o := healthy()
	if o.Datacentres() != nil {
		t.Error("a process with one datacentre has the section")
	}
	switched(o)
	d := o.Datacentres()
	var lines []string
	for _, l := range d.Choices() {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", l.Mode, l.Dataset, l.For, l.Since))
	}
	if got, want := strings.Join(lines, "; "), "degraded  1 of 3 shards 15:15:24; normal eu 1 of 3 shards 14:15:24; normal us 1 of 3 shards 15:14:24"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	lines = nil
	for _, c := range d.Copies().Rows {
		lines = append(lines, fmt.Sprintf("%s: %s, %s, %s", c.Text, c.State, c.Lag, c.Age))
	}
	want := []string{
		"ads.events of us: 0 of 2 copied, 1 waiting, 1 stopped, 3, 0.1 s",
		"ads.adjustments of us: 1 of 2 copied, 1 not known yet, at least 3, at least 0.1 s",
		"ads.events of ap: 2 of 2 copied, 1 behind, 3, 1 min 5 s",
		"ads.adjustments of ap: 2 of 2 copied, 3, 0.1 s",
		"events of sa: 0 of 2 copied, 2 not reported yet, unknown, unknown",
		"dataset of eu into ap: 0 of 2 written, 1 not running, 1 comparing, unknown, 0.9 s",
		"dataset of eu into us: 2 of 2 written, 1, 0.9 s",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s", got)
	}
	if got := d.Copies().Problems()[0]; got.Why != "us has lost the offsets from 1000 on" || !got.Stopped {
		t.Errorf("%+v", got)
	}
	if d.Unevaluated() != "2" || fmt.Sprint(d.Absent()) != "[sa]" {
		t.Errorf("%s not evaluated, %s absent", d.Unevaluated(), d.Absent())
	}
}

// TestCopiesOfPartitions: what is not known is not well, and no partition is called not running
// because its process does not answer, or has not reported the copy yet. Reasons of partitions
// that do not run are on the page.
func TestCopiesOfPartitions(t *testing.T) {
	o := healthy()
	withDatacentres(o)
	p := o.Partitions.Partitions
	first := len(p) - 6 // two partitions of the mirror, two of each push
	p[first].Copies = nil
	p[first+1].Copies, p[first+1].State, p[first+1].Reason = nil, "elsewhere", "weir-1 does not answer"
	p[first+2].Push, p[first+2].State, p[first+2].Reason = nil, "elsewhere", "weir-1 does not answer"
	p[first+3].Push = nil
	p[first+4].Push.AsOfMs = 0
	p[first+5].Push.End = -1
	check := func(want ...string) {
		t.Helper()
		var lines []string
		for _, c := range o.Datacentres().Copies().Rows {
			lines = append(lines, fmt.Sprintf("%s: %s %t %s", c.Text, c.State, c.Well, c.Why))
		}
		if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("%s", got)
		}
	}
	check(
		"events of us: 0 of 2 copied, 1 not reported yet, 1 not known yet false weir-1 does not answer",
		"events of ap: 0 of 2 copied, 1 not reported yet, 1 not known yet false weir-1 does not answer",
		"dataset of eu into ap: 0 of 2 written, 1 not reported yet, 1 not known yet false weir-1 does not answer",
		"dataset of eu into us: 0 of 2 written, 2 not known yet false ",
	)
	o.Partitions.Partitions = p[:first+2]
	p[first].Copies = []*weirpb.CopyStatus{{Dc: "us", Topic: "ads.events", LagMs: -1}, {Dc: "ap", Topic: "ads.events", Next: -1, End: -1}}
	p[first+1].State, p[first+1].Reason = "starting", "the disk is slow"
	check(
		"ads.events of us: 0 of 2 copied, 1 not known yet, 1 not running false the disk is slow",
		"ads.events of ap: 0 of 2 copied, 1 not known yet, 1 not running false the disk is slow",
	)
}

// TestManyShards: the list of shards with another dataset is bounded.
func TestManyShards(t *testing.T) {
	o := healthy()
	withDatacentres(o)
	for n := range int32(10_000) {
		s := &weirpb.ShardDatasets{Choice: &weirpb.DatasetChoice{Shard: n, Mode: "normal", Dc: "us", Reason: "eu lags"}, Datasets: o.Datasets[0].Datasets}
		o.Datasets = append(o.Datasets, s)
	}
	if text := htmlOf(t, o); !strings.Contains(text, "9,950 more") || len(text) > 64<<10 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestUnknownLag: a dataset without any event of an origin has no lag that is known.
func TestUnknownLag(t *testing.T) {
	o := healthy()
	withDatacentres(o)
	us := o.Datasets[0].Datasets[1]
	us.Never, us.LagMs, us.LagOrigin = true, 86_400_000, "ap"
	o.Datasets[1].Datasets[1].LagMs = 6000
	if got := o.Datacentres().Datasets(); !got.Lags || got.Rows[1].Lag != "at least 6.0 s" {
		t.Errorf("%+v", got)
	}
}

// TestManyCopies: the commands for copies that are left out are those of the copies.
func TestManyCopies(t *testing.T) {
	o := healthy()
	withDatacentres(o)
	for n := range maxCopies - 5 {
		o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{App: fmt.Sprintf("push.eu.x%d", n), State: "running"})
	}
	if got := o.Datacentres().Copies(); got.More != "1" || fmt.Sprint(got.MoreCommands) != "[weir push status]" {
		t.Errorf("%s %q", got.More, got.MoreCommands)
	}
}

// TestCommandOfDatasets: the command can be pasted into a shell, whatever the ids are.
func TestCommandOfDatasets(t *testing.T) {
	for want, d := range map[string]CampaignDatasets{
		"weir spend datasets --account ACCOUNT --campaign CAMPAIGN":         {},
		"weir spend datasets --account acme --campaign spring_1.x-y":        {Account: "acme", Campaign: "spring_1.x-y"},
		`weir spend datasets --account 'a $(b)' --campaign 'it'\''s; rm x'`: {Account: "a $(b)", Campaign: "it's; rm x"},
	} {
		if got := d.Command(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	used := &weirpb.Dataset{Chosen: true, Dc: "eu", Problem: "it lags", Rows: []*weirpb.SpendRow{{Day: "2026-11-23"}}}
	d := &CampaignDatasets{Shard: &weirpb.ShardDatasets{Datasets: []*weirpb.Dataset{used}}}
	if rows := d.Table().Rows; len(rows) != 1 || rows[0].Bad {
		t.Errorf("%+v", rows)
	}
}

// TestDifference: a row with other figures than the chosen one is never called equal.
func TestDifference(t *testing.T) {
	used := &weirpb.SpendRow{ChargedMicros: 1_500_000, RefundedMicros: 20_000, Events: 2000, Impressions: 1500, Clicks: 500, Duplicates: 3}
	for want, change := range map[string]func(*weirpb.SpendRow){
		equal:                   func(*weirpb.SpendRow) {},
		"1,990 fewer events":    func(r *weirpb.SpendRow) { r.Events = 10 },
		"1 more events":         func(r *weirpb.SpendRow) { r.Events++ },
		"0.50 less charged":     func(r *weirpb.SpendRow) { r.ChargedMicros = 1_000_000 },
		"0.01 more refunded":    func(r *weirpb.SpendRow) { r.RefundedMicros = 30_000 },
		"3 fewer duplicates":    func(r *weirpb.SpendRow) { r.Duplicates = 0 },
		"other types of events": func(r *weirpb.SpendRow) { r.Clicks, r.Impressions = r.Impressions, r.Clicks },
		"1,000,000 more events, 98.50 more charged": func(r *weirpb.SpendRow) { r.Events, r.ChargedMicros = 1_002_000, 100_000_000 },
	} {
		r := &weirpb.SpendRow{ChargedMicros: 1_500_000, RefundedMicros: 20_000, Events: 2000, Impressions: 1500, Clicks: 500, Duplicates: 3}
		change(r)
		if got := difference(r, used, decimals{2, 2}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
