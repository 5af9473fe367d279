package page

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// The text that a browser could run, reorder or cut, in every place of the content that has data.
const hostile = "<script>alert(1)</script>\u202e\"'`onx=&amp;{{.}}\x00\u05e9"

// healthy returns a process with spend and leases in which all is well.
func healthy() *Overview {
	now := time.Date(2026, 11, 23, 15, 15, 24, 0, time.UTC)
	o := &Overview{
		Now: now, Started: now.Add(-25*time.Hour - 30*time.Minute), Host: "127.0.0.1:8080", Base: "http://127.0.0.1:8080", OpsBase: "http://127.0.0.1:8081",
		Ready: true, Apps: []string{"spendcounter", "lease-balancer"}, CountsSpend: true, Day: "2026-11-23",
		Cluster:    &weirpb.GetClusterResponse{Brokers: []string{"127.0.0.1:9092"}, Dc: "berlin", Version: "v1.2.3", EventsTopic: "ads.events", Partitions: 3},
		Partitions: &weirpb.ListPartitionsResponse{},
		Top: []*weirpb.SpendRow{
			{Account: "acme", Campaign: "c1", Day: "2026-11-23", Currency: "EUR", ChargedMicros: 1_234_567_500_000, Events: 1_234_567},
			{Account: "acme", Campaign: "c2", Day: "2026-11-23", Currency: "EUR", ChargedMicros: 125_000, Events: 1},
			{Account: "zeta", Campaign: "c1", Day: "2026-11-23", Currency: "USD", ChargedMicros: 5_000_000, RefundedMicros: 1, Events: 7},
		},
		Charged: []Charge{{"EUR", 1_234_567_625_000}, {"USD", 5_000_000}},
		Health: &weirpb.ListHealthResponse{Shards: []*weirpb.ShardHealth{
			{Shard: 0, ApproxCount: 600, CumulativeCount: 1_000_000}, {Shard: 1, ApproxCount: 135, CumulativeCount: 234_575},
		}},
		Leases: &Leases{
			Sampled: Sampled{At: now}, Since: 10 * time.Minute,
			Headroom: []*eventspb.LeaseHeadroom{
				{Client: "acme", Pool: "numbers", Region: "eu", Free: 12_000, Leased: 3_000, Need: 100},
				{Client: "acme", Pool: "numbers", Region: "us", Free: 5, Outbound: 1, InTransit: 2, Returning: 3, Leased: 9_000, Need: 40, State: "active"},
			},
			Journal: []*eventspb.LeaseJournalEntry{
				{AtMs: now.Add(-time.Minute).UnixMilli(), Kind: "move", Pool: "numbers", Text: "moved 30 from eu to us: us needs 40 and has 9"},
				{AtMs: now.Add(-24 * time.Hour).UnixMilli(), Kind: "pull", Pool: "numbers", Text: "an old one"},
			},
		},
		Rejected: []Rejected{
			{App: "spendcounter", Sampled: Sampled{At: now}, Reasons: []Reason{{"negative_price", 1200}, {"too_old", 3}}},
			{App: "lease-balancer", Sampled: Sampled{At: now}},
		},
	}
	for p := range int32(3) {
		o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{App: "spendcounter", Partition: p, State: "running", Instance: "weir-0", Lag: new(int64(p) * 600)})
	}
	return o
}

// pages returns an overview or another page for each state that looks different.
func states() map[string]any {
	change := func(f func(*Overview)) *Overview {
		o := healthy()
		f(o)
		return o
	}
	return map[string]any{
		"datacentres": change(func(o *Overview) { withDatacentres(o) }),
		"switched":    change(switched),
		"nocache": change(func(o *Overview) {
			withDatacentres(o)
			o.HasCache, o.Datasets, o.Apps, o.Partitions.Partitions = false, nil, []string{"spendcounter"}, nil
		}),
		"compared": compared("acme", "c1"),
		"healthy":  healthy(),
		"empty": change(func(o *Overview) {
			*o = Overview{Now: o.Now, Ready: true, CountsSpend: true, Day: o.Day, Host: o.Host, Base: o.Base, OpsBase: o.OpsBase, Leases: &Leases{}, Rejected: []Rejected{{App: "spendcounter"}}}
		}),
		"stopped": change(func(o *Overview) {
			o.Partitions.Partitions[1] = &weirpb.Partition{App: "spendcounter", Partition: 1, State: "stopped", Reason: "offset out of range: run weir doctor", Instance: "weir-1"}
			o.Partitions.Waiting = []*weirpb.WaitingRole{{Instance: "weir-0", Reason: "executor us waits since 15:00:01 for the brokers of us: connection refused; it tries again at 15:15:30"}}
			o.Stopped = []string{"spendcounter partition 1 is stopped: offset out of range: run weir doctor"}
			o.Health.Shards[0].Lost = 7
			o.Health.Gaps = []*weirpb.Gap{{Partition: 2, State: "restoring", Reason: "12 records left"}}
		}),
		"lagging": change(func(o *Overview) {
			*o.Partitions.Partitions[2].Lag = 1_250_000
			o.Ready, o.Reasons = false, []string{"spendcounter partition 2 is 1250000 records behind"}
			o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{App: "spendcounter", Partition: 2, State: "standby", Instance: "weir-1", Lag: new(int64)})
		}),
		"unknown": change(func(o *Overview) {
			o.Cluster, o.Partitions, o.Health, o.Top, o.Charged = nil, nil, nil, nil, nil
			o.Errors = Errors{"no cluster", "no partitions", "no ranking", "no health", "no datasets"}
			o.Leases.Err, o.Rejected[0].Err, o.Rejected[1].Unread = "no topic", "no topic", 30_000
		}),
		"hostile": change(func(o *Overview) {
			for _, r := range o.Top {
				r.Account, r.Campaign = hostile, strings.Repeat("w", 200)+hostile
			}
			o.Top[1].Account = "acme"
			o.Cluster.Dc, o.Cluster.Version, o.Cluster.Brokers = hostile, hostile, []string{hostile}
			o.Apps, o.Host, o.Base, o.OpsBase, o.Reasons, o.Ready = []string{hostile}, hostile, "http://"+hostile, "javascript:"+hostile, []string{hostile}, false
			for _, p := range o.Partitions.Partitions {
				p.App, p.State, p.Instance, p.Reason = hostile, hostile, hostile, hostile
			}
			for _, h := range o.Leases.Headroom {
				h.Client, h.Pool, h.Region, h.State = hostile, hostile, hostile, hostile
			}
			o.Leases.Journal[0].Text, o.Leases.Journal[0].Kind = hostile, hostile
			o.Rejected[0].App, o.Rejected[0].Reasons[0].Reason, o.Rejected[1].Err = hostile, hostile, hostile
			o.Health.Gaps = []*weirpb.Gap{{State: hostile, Reason: hostile}}
			o.Day, o.Stopped = hostile, []string{hostile}
			hostileDatacentres(o)
			o.Pacing, o.Jobs = pacingStatus(hostile, hostile), jobQueues(hostile, hostile)
		}),
		"jobs": change(func(o *Overview) {
			o.Jobs = jobQueues("images", "outage of resource gpu: 11 of 11 failed, 1 of 139 without it")
		}),
		"pacing": change(func(o *Overview) { o.Pacing = pacingStatus("weir-1", "no_own_budget") }),
		"campaign": &Spend{Now: healthy().Now, Account: "acme", Campaign: "c1", Days: []*weirpb.SpendRow{
			{Account: "acme", Campaign: "c1", Day: "2026-11-23", Currency: "EUR", ChargedMicros: 1_500_000, RefundedMicros: 500_000, Events: 2_000, Impressions: 1_999, Clicks: 1, Duplicates: 3},
			{Account: "acme", Campaign: "c1", Day: "2026-11-22", Currency: "USD", ChargedMicros: 1, Events: 1},
		}, Cut: 1200},
		"search": &Spend{
			Now: healthy().Now, Query: hostile, DaysErr: hostile, Next: "/spend?page_token=x",
			Campaigns: []*weirpb.SpendRow{{Account: hostile, Campaign: hostile, Currency: "EUR", ChargedMicros: 1}},
			Datasets:  &CampaignDatasets{Now: healthy().Now, DC: hostile, Shard: hostileShard()},
			Pacing:    hostilePacing(),
		},
		"paced":   paced(),
		"missing": &Missing{Path: hostile, Ops: "http://127.0.0.1:8081/readyz"},
	}
}

func htmlOf(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := Parse().Render(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// section returns the section of a page with an id.
func section(t testing.TB, text, id string) string {
	t.Helper()
	i := strings.Index(text, `<section id="`+id+`"`)
	if i < 0 {
		t.Fatalf("no section %s in %s", id, text)
	}
	inside, _, ended := strings.Cut(text[i:], "</section>")
	if !ended {
		t.Fatalf("section %s has no end in %s", id, text)
	}
	return inside + "</section>\n"
}

// TestGolden compares the pages with the files of testdata. WEIR_TEST_REWRITE writes them. The
// files of further states of the datacentres have only their section: datacentres.html has the page
// around it.
func TestGolden(t *testing.T) {
	for name, v := range states() {
		got := htmlOf(t, v)
		if name == "switched" || name == "nocache" {
			got = section(t, got, "datacentres")
		}
		file := filepath.Join("testdata", name+".html")
		if os.Getenv("WEIR_TEST_REWRITE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not %s: look at the change, then set WEIR_TEST_REWRITE=1", name, file)
		}
	}
}

// TestPolicy: no page has what Policy forbids, and data of any content adds no element and no
// attribute.
func TestPolicy(t *testing.T) {
	files, types := Files()
	for name, v := range states() {
		text := htmlOf(t, v)
		if strings.ContainsAny(text, "\u202e\x00") {
			t.Errorf("%s has characters that are not printable", name)
		}
		loaded := 0
		for z := html.NewTokenizer(strings.NewReader(text)); z.Next() != html.ErrorToken; {
			tok := z.Token()
			if tok.Type != html.StartTagToken {
				continue
			}
			attr := map[string]string{}
			for _, a := range tok.Attr {
				attr[a.Key] = a.Val
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
					t.Errorf("%s: <%s %s=%q>", name, tok.Data, a.Key, a.Val)
				}
			}
			at := ""
			switch tok.Data {
			case "style", "iframe", "object", "base", "img":
				t.Errorf("%s has <%s>", name, tok.Data)
			case "form":
				if attr["method"] != "get" || attr["action"] != "/spend" {
					t.Errorf("%s has a form %v", name, attr)
				}
				continue
			case "script":
				at = attr["src"]
			case "link":
				at = attr["href"]
			default:
				continue
			}
			loaded++
			f, err := files.Open(strings.TrimPrefix(at, "/"))
			if err != nil || types[strings.TrimPrefix(at, "/")] == "" {
				t.Errorf("%s loads %q: %v", name, at, err)
				continue
			}
			_ = f.Close()
		}
		if loaded != 3 {
			t.Errorf("%s loads %d files, want style, icon and script", name, loaded)
		}
	}
}

// TestColumns: a column that has the same value in all rows is not shown.
func TestColumns(t *testing.T) {
	text := htmlOf(t, healthy())
	for _, none := range []string{">account</th>", ">process</th>", ">client</th>", ">reason</th>"} {
		if strings.Contains(text, none) {
			t.Errorf("healthy has the column %s", none)
		}
	}
	if n := strings.Count(text, ">refunded</th>"); n != 1 {
		t.Errorf("%d rankings have refunds, want that of USD", n)
	}
}

// TestSize: a page of a large cluster, and all that it loads, is below 150 KB compressed, and below
// 1 MB in memory.
func TestSize(t *testing.T) {
	o := healthy()
	o.Partitions.Partitions, o.Top = nil, nil
	for p := range int32(10_000) {
		o.Partitions.Partitions = append(o.Partitions.Partitions, &weirpb.Partition{App: "spendcounter", Partition: p, State: "stopped", Reason: fmt.Sprintf("reason %x", p*7919), Instance: fmt.Sprint("weir-", p%97)})
	}
	for i := range 100 {
		o.Top = append(o.Top, &weirpb.SpendRow{Account: fmt.Sprint(i, strings.Repeat("a", 250)), Campaign: fmt.Sprint(i, strings.Repeat("c", 250)), Currency: "EUR", ChargedMicros: math.MaxInt64})
	}
	for i := range 5_000 {
		o.Leases.Headroom = append(o.Leases.Headroom, &eventspb.LeaseHeadroom{Client: fmt.Sprint("client", i), Pool: fmt.Sprint("pool", i), Region: "eu", Need: int64(i)})
		o.Leases.Journal = append(o.Leases.Journal, &eventspb.LeaseJournalEntry{Text: fmt.Sprint("moved ", i)})
	}
	text := htmlOf(t, o)
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	fmt.Fprint(z, text)
	files, types := Files()
	for name := range types {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(z, "%s", body)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d compressed", len(text), small.Len())
	if len(text) > 1<<20 || small.Len() > 150<<10 {
		t.Errorf("%d bytes, %d compressed", len(text), small.Len())
	}
	for _, want := range []string{"9,950 more", "9,800 more", "4,942 more rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not state %q", want)
		}
	}
}

// TestMoneyExact: an amount of a page without its separators is the amount.
func TestMoneyExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.SliceOfN(rapid.Int64(), 1, 5).Draw(t, "micros")
		need := places(column...)
		for _, micros := range column {
			text := money(micros, need)
			if !regexp.MustCompile(`^-?\d{1,3}(,\d{3})*\.\d{2,6}$`).MatchString(text) {
				t.Fatalf("money(%d) = %q", micros, text)
			}
			got, ok := new(big.Rat).SetString(strings.ReplaceAll(text, ",", ""))
			if want := big.NewRat(micros, 1e6); !ok || got.Cmp(want) != 0 {
				t.Fatalf("money(%d) = %q", micros, text)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	now := healthy().Now
	for got, want := range map[string]string{
		count(0): "0", count(uint64(math.MaxUint64)): "18,446,744,073,709,551,615", count(int64(math.MinInt64)): "-9,223,372,036,854,775,808",
		rate(0) + "/s": "0.0/s", rate(5_999): "100.0", rate(600_030): "10,001",
		span(59 * time.Second): "59 s", span(time.Hour - 1): "59 min 59 s", span(25*time.Hour + 1): "1 d 1 h", span(-time.Hour) + " ": "0 s ",
		clock(now.Add(-time.Hour), now): "14:15:24", clock(now.Add(-24*time.Hour), now): "2026-11-22 15:15",
		fmt.Sprint(places(1_500_000)): "2", fmt.Sprint(places(1, 1_000_000)): "6", money(-1_234_500_000, 2): "-1,234.50",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, h := range map[int64]*eventspb.LeaseHeadroom{
		0: {Free: 3, Need: 3}, 31: healthy().Leases.Headroom[1], 7: {Free: 5, Outbound: 9, Need: 7},
	} {
		if got := Shortfall(h); got != want {
			t.Errorf("Shortfall(%v) = %d, want %d", h, got, want)
		}
	}
}

// FuzzHostile: no text of data becomes an element.
func FuzzHostile(f *testing.F) {
	f.Add(hostile)
	shape := func(text string) (names []string) {
		for z := html.NewTokenizer(strings.NewReader(text)); z.Next() != html.ErrorToken; {
			if tok := z.Token(); tok.Type == html.StartTagToken {
				names = append(names, tok.Data)
			}
		}
		return names
	}
	page := func(t testing.TB, id string) string {
		o := healthy()
		o.Top[0].Campaign, o.Cluster.Dc, o.Leases.Journal[0].Text, o.Rejected[0].Reasons[0].Reason = "x"+id, "x"+id, id, id
		o.Partitions.Partitions[0].State, o.Partitions.Partitions[0].Reason, o.Errors.Cluster = "x"+id, "x"+id, "x"+id
		switched(o)
		o.Datasets[1].Choice.Reason, o.Datasets[0].Datasets[1].Problem = "x"+id, "x"+id
		o.Partitions.Partitions[4].Copies[0].Problem, o.Partitions.Partitions[4].Copies[0].Topic = "x"+id, "x"+id
		return htmlOf(t, o)
	}
	want := fmt.Sprint(shape(page(f, "id")))
	f.Fuzz(func(t *testing.T, id string) {
		if got := fmt.Sprint(shape(page(t, id))); got != want {
			t.Errorf("%q changes the page: %s", id, got)
		}
	})
}
