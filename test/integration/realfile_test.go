package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// realFile returns the path of a file of real events beside the repository, and skips the test
// without it.
func realFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		t.Skipf("the real data is missing: %v", err)
	}
	return path
}

// TestRealFile imports a real campaign's log twice. The description of the data set has its totals.
func TestRealFile(t *testing.T) {
	file := realFile(t, "ads/ipinyou_1458_220k.csv.gz")
	c := shared(t)
	f := follow(c)
	addr, _ := newInstance(c, "a").start().ready()

	var sum struct {
		Read, Produced, Rejected int64
		Repeated                 int64 `json:"repeated_in_file"`
	}
	for round := range 2 {
		began := time.Now()
		answer(t, &sum, "ingest", file, "--format", "csv", "--map", "campaign=campaign,time=hour_start_cst,price=payprice_cpm_fen,click=click",
			"--price-unit", "cpm-fen", "--currency", "CNY", "--tz", "Asia/Shanghai", "--account", "ipinyou", "--server", addr)
		if sum.Read != 220_000 || sum.Produced != 220_156 || sum.Rejected != 0 || sum.Repeated != 0 {
			t.Errorf("round %d: result of the import: %+v", round, sum)
		}
		var s spend
		answer(t, &s, "spend", "show", "--campaign", "1458", "--wait", "--server", addr)
		want := spend{
			Campaign: "1458", Account: "ipinyou", Currency: "CNY", Charged: 147_125_090,
			Impressions: 220_000, Clicks: 156, Events: 220_156, Duplicates: uint64(round) * 220_156,
		}
		if s != want {
			t.Errorf("round %d: %+v, want %+v", round, s, want)
		}
		t.Logf("round %d: imported, folded and shown in %s", round, time.Since(began))
	}

	again := filepath.Join(t.TempDir(), "again.jsonl")
	row := `{"event_id":"x","account":"ipinyou","campaign":"again","type":"click","price_micros":7,"currency":"CNY","event_ms":1384000000000}`
	if err := os.WriteFile(again, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		r := weir(t, "ingest", again, "--format", "jsonl", "--server", addr)
		if r.code != 0 || strings.Contains(r.stderr, "imported before") != (round == 1) {
			t.Errorf("round %d: code %d\n%s", round, r.code, r.stderr)
		}
		var s spend
		answer(t, &s, "spend", "show", "--campaign", "again", "--wait", "--server", addr)
		if s.Charged != 7 || s.Duplicates != uint64(round) {
			t.Errorf("round %d: %+v", round, s)
		}
	}

	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	if r := weir(t, "ingest", file, "--format", "jsonl", "--rejects", rejects, "--server", addr); r.code != 65 || !strings.Contains(r.stderr, "every row was rejected") {
		t.Errorf("ingest of a file in another format: code %d\n%s", r.code, r.stderr)
	}

	f.caughtUp(c)
	rows, bad := f.totals()
	all := account{byType: map[eventspb.EventType]uint64{}}
	for at, a := range rows {
		if at.campaign == "again" {
			continue
		}
		if at.campaign != "1458" || at.account != "ipinyou" || at.currency != "CNY" {
			t.Errorf("a row of %v", at)
		}
		all.micros += a.micros
		all.duplicates += a.duplicates
		for typ, n := range a.byType {
			all.byType[typ] += n
		}
	}
	if all.micros != 147_125_090 || all.duplicates != 220_156 || len(all.byType) != 2 ||
		all.byType[eventspb.EventType_EVENT_TYPE_IMPRESSION] != 220_000 || all.byType[eventspb.EventType_EVENT_TYPE_CLICK] != 156 {
		t.Errorf("spend.by.local sums to %v", &all)
	}
	for _, text := range bad {
		t.Error(text)
	}
	if dead := deadLetters(c); len(dead) != 0 {
		t.Errorf("%d dead letters; the first: %s", len(dead), firstLetter(dead))
	}
}
