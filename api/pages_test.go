package api

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// browse sends a request as a browser does.
func browse(h http.Handler, path string) (*http.Response, string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+path, nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	h.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func index(t *testing.T, cfg Config, path string) (*http.Response, string) {
	t.Helper()
	return browse(mustNew(t, cfg).dataHandler(), path)
}

func TestOverview(t *testing.T) {
	res, body := index(t, config(), "/")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	for _, want := range []string{
		"v1.2.3", ">ready<", "offset out of range: run weir doctor", "1 of 2 running", "Events lost: 1.",
		"http://127.0.0.1:8080/weir.v1.SpendService/GetSpend", "127.0.0.1:9092",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestPagePolicy: only pages may run the script of this origin. All other answers, of both
// listeners, keep the policy that allows nothing.
func TestPagePolicy(t *testing.T) {
	s := mustNew(t, config())
	const none = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for path, want := range map[string]string{
		"/": page.Policy, "/spend?q=c1": page.Policy, "/nothing": page.Policy, "/weir.js": none, "/weir.css": none, "/icon.svg": none,
		"/weir.v1.ClusterService/GetCluster?connect=v1&encoding=json&message=%7B%7D": none,
	} {
		res, _ := browse(s.dataHandler(), path)
		if got := res.Header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: policy %q", path, got)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, res.Header)
		}
	}
	if res, _ := browse(s.opsHandler(), "/"); res.Header.Get("Content-Security-Policy") != none {
		t.Errorf("ops: %v", res.Header)
	}
	for _, bad := range []string{"unsafe", "data:", "http:", "https:", "*"} {
		if strings.Contains(page.Policy, bad) {
			t.Errorf("the policy of pages has %s", bad)
		}
	}
}

// TestOverviewUnknown: the page shows why a figure is missing, and no zero in its place. Data is
// shown as text, not as HTML.
func TestOverviewUnknown(t *testing.T) {
	cfg := config()
	cfg.Spend = &fakeSpend{err: errors.New("store is closed")}
	cfg.Leases = fakeLeases(func(context.Context) (page.Leases, error) { return page.Leases{}, errors.New("no broker") })
	cfg.tasks(&fakeCluster{err: errors.New("<script>alert(1)</script>")})
	res, body := index(t, cfg, "/")
	if res.StatusCode != http.StatusOK || strings.Count(strings.ToLower(body), "not available now") != 5 || !strings.Contains(body, "store is closed") || !strings.Contains(body, "no broker") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Error("an error's text became HTML")
	}
	cfg = config()
	cfg.tasks(&fakeCluster{parts: []*weirpb.Partition{}})
	if _, body := index(t, cfg, "/"); !strings.Contains(body, "No process has a partition") {
		t.Error("no partitions: the page does not state it")
	}
}

// TestMissingPage: a browser gets a page with a link, a program a line of text. Both get the
// address on the ops listener, if it has the path.
func TestMissingPage(t *testing.T) {
	s := mustNew(t, config())
	s.opsAddr = "127.0.0.1:8081"
	for path, want := range map[string]string{
		"/nothing": `href="/"`, "/<b>": "&lt;b&gt;", "/healthz": "http://127.0.0.1:8081/readyz", "/livez": "http://127.0.0.1:8081/livez",
		"/metrics": "http://127.0.0.1:8081/metrics",
	} {
		res, body := browse(s.dataHandler(), (&url.URL{Path: path}).String())
		if res.StatusCode != http.StatusNotFound || !strings.Contains(body, want) || !strings.Contains(body, "/weir.css") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	w := httptest.NewRecorder()
	s.dataHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/healthz", nil))
	if got := w.Body.String(); w.Code != http.StatusNotFound || got != "no page has this path, which is on the ops listener: http://127.0.0.1:8081/readyz\n" {
		t.Errorf("%d %q", w.Code, got)
	}
}

// TestCompressed: the page is compressed for a browser that asks for it, and the same.
func TestCompressed(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/nothing", nil)
	r.Header.Set("Accept-Encoding", "gzip, br")
	r.Header.Set("Accept", "text/html")
	h := mustNew(t, config()).dataHandler()
	h.ServeHTTP(w, r)
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if _, want := browse(h, "/nothing"); err != nil || string(got) != want || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%q, %v, %v", got, err, w.Header())
	}
}

// cells returns the text of the cells of each row of the tables in the section with an id, and of
// the strip with the id "strip".
func cells(t *testing.T, body, id string) (rows [][]string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text := func(n *html.Node) string {
		var b strings.Builder
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				b.WriteString(d.Data)
			}
		}
		return strings.TrimSpace(b.String())
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return (a.Key == "id" || a.Key == "class") && a.Val == id }) {
			continue
		}
		for d := range n.Descendants() {
			switch {
			case d.Data == "tr" || d.Data == "div":
				rows = append(rows, nil)
			case (d.Data == "td" || d.Data == "dt" || d.Data == "dd") && d.Type == html.ElementNode:
				rows[len(rows)-1] = append(rows[len(rows)-1], text(d))
			}
		}
	}
	return slices.DeleteFunc(rows, func(r []string) bool { return r == nil })
}

// micros reads an amount of a page.
func micros(t *testing.T, text string) int64 {
	t.Helper()
	whole, fraction, _ := strings.Cut(strings.ReplaceAll(text, ",", ""), ".")
	n, err := strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

// TestFiguresOfCommands compares the figures of the pages with the JSON that commands print, for
// random spend in two processes.
func TestFiguresOfCommands(t *testing.T) {
	a, _, all := spenders(t, 7)
	for _, day := range []string{"2013-10-18", "2013-10-20"} {
		top, err := a.client.TopSpend(t.Context(), &weirpb.TopSpendRequest{Day: day, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		var printed struct{ Rows []render.TopRow }
		b, err := render.SpendTopJSON(top)
		if err == nil {
			err = json.Unmarshal(b, &printed)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, body := get(t, client(t), "http://"+a.addr+"/?day="+day)
		rows := cells(t, body, "campaigns")
		if len(rows) != len(printed.Rows) || len(rows) == 0 {
			t.Fatalf("%s: %d rows, want %d: %s", day, len(rows), len(printed.Rows), body)
		}
		charged := map[string]int64{}
		for i, r := range rows {
			want := printed.Rows[i]
			charged[want.Currency] += want.ChargedMicros
			if r[0] != fmt.Sprint(want.Rank) || r[1] != want.Campaign || r[2] != want.Account || micros(t, r[3]) != want.ChargedMicros ||
				micros(t, r[4]) != want.RefundedMicros || r[5] != fmt.Sprint(want.Events) {
				t.Errorf("%s: %v, want %+v", day, r, want)
			}
		}
		for _, c := range cells(t, body, "strip")[0][1:] {
			amount, currency, _ := strings.Cut(c, " ")
			if micros(t, amount) != charged[currency] {
				t.Errorf("%s: charged %s, want %d", day, c, charged[currency])
			}
			delete(charged, currency)
		}
		if len(charged) > 0 {
			t.Errorf("%s: the strip has no %v", day, charged)
		}
	}
	s := all[0]
	_, body := get(t, client(t), "http://"+a.addr+page.SpendPath(s.Account, ""))
	list, err := a.client.ListSpend(t.Context(), &weirpb.ListSpendRequest{Account: s.Account, By: "campaign"})
	if err != nil {
		t.Fatal(err)
	}
	rows := cells(t, body, "account")
	for i, want := range render.SpendRows(list) {
		if len(rows) != len(list.GetRows()) || rows[i][0] != want.Campaign || rows[i][1] != want.Currency || micros(t, rows[i][2]) != want.ChargedMicros {
			t.Fatalf("%v, want %+v", rows, want)
		}
	}
}

// TestFullRanking: with more campaigns than a ranking has, the sum is that of all campaigns.
func TestFullRanking(t *testing.T) {
	a, _, _ := spenders(t, 7)
	var want int64
	for i := range MaxTop + 20 {
		s := record(20150101, "local", uint64(1000-i), 0)
		s.Account, s.Campaign, s.Currency = "a0", fmt.Sprintf("many%03d", i), "GBP"
		p := a.parts[0]
		if p == nil {
			t.Fatal("the process has no partition 0")
		}
		p.spends = append(p.spends, s)
		want += s.GetByDc()[0].GetChargedMicros()
	}
	_, body := get(t, client(t), "http://"+a.addr+"/?day=2015-01-01")
	if got := cells(t, body, "strip")[0][1]; micros(t, strings.Fields(got)[0]) != want {
		t.Errorf("charged %q, want %d", got, want)
	}
	if rows := cells(t, body, "campaigns"); len(rows) != 20 {
		t.Errorf("%d campaigns, want 20", len(rows))
	}
}

// TestSpendPage: a search finds the campaign in all accounts, and the account. A link of a ranking
// leads to the days.
func TestSpendPage(t *testing.T) {
	cfg := config()
	source := cfg.Spend.(*fakeSpend)
	source.records = append(source.records, with(record(20131022, "local", 1, 0), func(s *eventspb.Spend) { s.Account, s.Currency = "<i>", "EUR" }))
	h := mustNew(t, cfg).dataHandler()
	_, body := browse(h, "/spend?q=+c1+")
	if rows := cells(t, body, "days"); len(rows) != 4 || rows[0][1] != "<i>" || rows[3][0] != "2013-10-19" || micros(t, rows[3][3]) != 30_000 {
		t.Errorf("%v", rows)
	}
	_, body = browse(h, page.SpendPath("a1", "c1"))
	if rows := cells(t, body, "days"); len(rows) != 3 || len(cells(t, body, "account")) != 0 || rows[0][0] != "2013-10-21" {
		t.Errorf("%v", rows)
	}
	if _, body = browse(h, "/spend?q=nothing"); !strings.Contains(body, "has no spend") {
		t.Errorf("%s", body)
	}
	if _, body = browse(h, "/spend?q="+strings.Repeat("x", 5000)); !strings.Contains(body, "bytes") {
		t.Errorf("a long id: %s", body)
	}
	cfg = config()
	cfg.Spend, cfg.Apps = nil, cfg.Apps[:0]
	if res, _ := index(t, cfg, "/spend?q=c1"); res.StatusCode != http.StatusNotFound {
		t.Errorf("without spend: %d", res.StatusCode)
	}
}

// TestPacingPage: the pages of a campaign, of an account and of a search have how it is paced, in a
// process that paces.
func TestPacingPage(t *testing.T) {
	cfg := pacingConfig(newPackState(t, pack("a1", 0, 1, time.Second, node("c1", "behind_plan", 0.5), node("c9", "ahead_of_plan", 0.25))),
		&fakeBudgets{})
	h := mustNew(t, cfg).dataHandler()
	for path, want := range map[string]int{page.SpendPath("a1", "c1"): 1, page.SpendPath("a1", ""): 2, "/spend?q=c1": 1} {
		_, body := browse(h, path)
		rows := cells(t, body, "pacing")
		if len(rows) != want || rows[0][0] != "c1" || rows[0][1] != "50 %" {
			t.Errorf("%s: %v", path, rows)
		}
	}
	if _, body := browse(h, page.SpendPath("a1", "c1")); !strings.Contains(body, "c1 of a1 takes part in 50 % of auctions") {
		t.Errorf("no sentence: %s", body)
	}
	if _, body := browse(h, "/"); !strings.Contains(body, "2 of 2 campaigns of 1 accounts take part in auctions") {
		t.Errorf("the overview: %s", body)
	}
	if _, body := browse(h, page.SpendPath("a2", "")); !strings.Contains(body, "is not paced, because it has no budgets") {
		t.Errorf("an account without budgets: %s", body)
	}
	if _, body := browse(mustNew(t, config()).dataHandler(), page.SpendPath("a1", "c1")); strings.Contains(body, "Pacing") {
		t.Errorf("a process that does not pace: %s", body)
	}
}

// fakeLeases is a LeaseSource.
type fakeLeases func(context.Context) (page.Leases, error)

// Leases implements LeaseSource.
func (f fakeLeases) Leases(ctx context.Context) (page.Leases, error) { return f(ctx) }

// TestSlowSources: a page does not wait for a source that takes long, asks it once at a time, and
// not again before its rest. The server ends the read that is in progress.
func TestSlowSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads, ended atomic.Int32
		cfg := config()
		cfg.Leases = fakeLeases(func(ctx context.Context) (page.Leases, error) {
			reads.Add(1)
			defer ended.Add(1)
			select {
			case <-time.After(4 * time.Second):
				return page.Leases{Headroom: []*eventspb.LeaseHeadroom{{Pool: "numbers", Region: "eu"}}}, nil
			case <-ctx.Done():
				return page.Leases{}, ctx.Err()
			}
		})
		s := mustNew(t, cfg)
		h := s.dataHandler()
		began := time.Now()
		for range 3 {
			if _, body := browse(h, "/"); !strings.Contains(body, "are being read") {
				t.Error("the page does not state that the first read is in progress")
			}
		}
		if took := time.Since(began); took != 3*firstWait || reads.Load() != 1 {
			t.Errorf("three pages took %s with %d reads", took, reads.Load())
		}
		<-time.After(4 * time.Second)
		if _, body := browse(h, "/"); !strings.Contains(body, "numbers") {
			t.Error("the page lacks the pools")
		}
		<-time.After(79 * time.Second)
		browse(h, "/")
		synctest.Wait()
		if reads.Load() != 1 {
			t.Error("the source was read again before its rest")
		}
		<-time.After(2 * time.Second)
		_, body := browse(h, "/")
		synctest.Wait()
		if reads.Load() != 2 || !strings.Contains(body, "numbers") {
			t.Errorf("%d reads: the old figures stay while the new ones are read", reads.Load())
		}
		s.samples.stop()
		if ended.Load() != 2 {
			t.Error("a read outlived the server")
		}
	})
}

// TestPanickingSources: a panic in a source is an error on the page and in the log, and does not
// end the process.
func TestPanickingSources(t *testing.T) {
	cfg := config()
	cfg.Leases = fakeLeases(func(context.Context) (page.Leases, error) { panic("boom") })
	cfg.Cluster = panickingCluster{}
	res, body := index(t, cfg, "/")
	if n := strings.Count(body, "this is a defect of weir"); res.StatusCode != http.StatusOK || n != 2 {
		t.Errorf("%d, %d errors: %s", res.StatusCode, n, body)
	}
	if got := metric(t, cfg.Registry, "weir_api_panics_total", indexLabel); got != 2 {
		t.Errorf("%v panics counted", got)
	}
}

// panickingCluster is a ClusterSource with a defect.
type panickingCluster struct{}

// Cluster implements ClusterSource.
func (panickingCluster) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	panic("boom")
}
