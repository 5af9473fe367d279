package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
)

// browser returns a headless Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium in PATH: install chromium-headless-shell or chromium")
	return ""
}

// probe is a script that the test adds to a page. It uses the page as an operator does, and writes
// what it found into an attribute of the document.
const probe = `"use strict";
const faults = [];
const fault = (text) => faults.push(text);
addEventListener("error", (e) => fault("error: " + e.message));
addEventListener("unhandledrejection", (e) => fault("rejection: " + e.reason));
addEventListener("securitypolicyviolation", (e) => fault("policy: " + e.violatedDirective + " " + e.blockedURI));
for (const f of ["error", "warn"]) console[f] = (...a) => fault("console: " + a);
const check = (ok, text) => ok || fault(text);
const rate = () => document.querySelector(".strip").textContent;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const run = async () => {
  const width = document.documentElement.clientWidth;
  check(document.documentElement.scrollWidth <= width, "the page is wider than the window: " + document.documentElement.scrollWidth);
  for (const el of document.querySelectorAll("main *")) {
    const box = el.getBoundingClientRect();
    if (box.width && box.right > width + 1) fault("cut: " + el.outerHTML.slice(0, 80));
  }
  if (!document.querySelector("#all")) return;
  const details = document.querySelector("#all"), link = document.querySelector("main a"), input = document.querySelector("#q");
  details.open = true;
  input.value = "typed";
  link.focus();
  scrollTo(0, 120);
  const from = scrollY, first = rate();
  await sleep(5000);
  check(rate() !== first, "nothing was updated");
  check(details.isConnected && details.open, "details were closed");
  check(document.activeElement === link, "the focus was lost");
  check(input.value === "typed", "the input was lost");
  check(scrollY === from, "the scroll position was lost");
  const title = document.querySelector("main h2");
  getSelection().selectAllChildren(title);
  const selected = rate();
  await sleep(5000);
  check(rate() === selected, "updated while text is selected");
  check(String(getSelection()) === title.textContent, "the selection was lost");
  getSelection().removeAllRanges();
  document.querySelector("#pause").click();
  await sleep(500);
  const paused = rate();
  await sleep(5000);
  check(rate() === paused, "updated while paused");
  document.querySelector("#pause").click();
  await sleep(3000);
  check(rate() !== paused, "not updated after the pause");
};
addEventListener("load", () => run().catch((e) => fault("probe: " + e)).then(() => {
  document.documentElement.dataset.faults = JSON.stringify(faults);
}));
`

// probed adds probe to the pages of h.
func probed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/probe.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(probe))
			return
		}
		r.Header.Del("Accept-Encoding")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(bytes.Replace(rec.Body.Bytes(), []byte(`<script src="/weir.js"`), []byte(`<script src="/probe.js"></script><script src="/weir.js"`), 1))
	})
}

// TestBrowser opens the pages in Chromium, at the width of a desk and of a phone, light and dark:
// nothing is cut, nothing is reported to the console, and updates keep scroll position, focus, open
// details and selection. WEIR_TEST_SCREENSHOTS is a folder for pictures.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	chromium := browser(t)
	a, _, _ := spenders(t, 7)
	hostile := strings.Repeat("w", 120) + "<script>alert(1)</script>\u05e9\u202e"
	s := record(20131020, "local", 1_234_567, 0)
	s.Account, s.Campaign, s.Currency = "a0", hostile, "EUR"
	a.parts[0].spends = append(a.parts[0].spends, s)
	cfg := config()
	cfg.Apps, cfg.SpendApp = []App{a.app()}, "counter"
	cfg.Cluster, cfg.Spend = &ringCluster{}, &fakeSpend{records: []*eventspb.Spend{s}}
	cfg.SpendCache = &switchedCache{fakeCache{records: []*eventspb.Spend{s}}}
	cfg.Apps[0].Tasks = &growing{}
	cfg.Leases = fakeLeases(func(context.Context) (page.Leases, error) {
		return page.Leases{
			Headroom: []*eventspb.LeaseHeadroom{{Pool: "numbers", Region: "eu-west-1", Free: 1200, Leased: 34_000, Need: 3000}, {Pool: hostile, Region: "us-east-1", Leased: 12}},
			Journal:  []*eventspb.LeaseJournalEntry{{AtMs: time.Now().UnixMilli(), Kind: "move", Text: "moved 30 resources from eu-west-1 to us-east-1: " + hostile}},
		}, nil
	})
	h := mustNew(t, cfg).dataHandler()
	srv := httptest.NewServer(probed(h))
	defer srv.Close()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, v := range []visit{
		{"overview", "/?day=2013-10-20", 1280, false},
		{"overview", "/?day=2013-10-20", 390, true},
		{"campaign", page.SpendPath("a0", hostile), 390, false},
	} {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, fault := range v.faults(t, chromium, srv.URL) {
				t.Errorf("%s at %d: %s", v.name, v.width, fault)
			}
		})
	}
	wg.Wait()
}

// visit is a page in a browser.
type visit struct {
	name, path string
	width      int
	dark       bool
}

// faults returns what the probe found.
func (v visit) faults(t *testing.T, chromium, server string) (faults []string) {
	args := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=25000", "--user-data-dir=" + t.TempDir(),
		fmt.Sprintf("--window-size=%d,700", v.width), "--dump-dom",
	}
	if v.dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	if dir := os.Getenv("WEIR_TEST_SCREENSHOTS"); dir != "" {
		args = append(args, "--screenshot="+filepath.Join(dir, fmt.Sprintf("%s-%d.png", v.name, v.width)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.Limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, chromium, append(args, server+v.path)...).Output()
	if err != nil {
		return []string{fmt.Sprintf("run %s: %v", chromium, err)}
	}
	doc, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		return []string{err.Error()}
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key != "data-faults" {
				continue
			}
			if err := json.Unmarshal([]byte(a.Val), &faults); err != nil {
				return []string{err.Error()}
			}
			return faults
		}
	}
	return []string{"the probe did not end: " + string(out)}
}

// growing is a TaskSource whose lag changes with every call.
type growing struct {
	mu  sync.Mutex
	lag int64
}

// Tasks implements TaskSource.
func (g *growing) Tasks(context.Context) ([]*weirpb.Partition, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lag++
	var list []*weirpb.Partition
	for p := range int32(12) {
		list = append(list, &weirpb.Partition{App: "counter", Partition: p, State: "running", Instance: "weir-0", Lag: new(g.lag)})
	}
	list[3].State, list[3].Reason = "stopped", "the offset 12345 of ads.events[3] is out of range: run weir doctor and decide what to skip"
	return list, nil
}
