package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// dataFile returns the path of a file in ../shared/data, relative to the repository's root. It
// skips the test if the file is missing.
func dataFile(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	path := filepath.Join(dir, "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data missing: %v", err)
	}
	return path
}

// totals are the counts and sums of an input.
type totals struct {
	rows, rejected, impressions, clicks, others int
	micros                                      int64
	ids                                         map[string]bool
	days                                        map[int32]int
}

func count(t testing.TB, r *Reader) totals {
	t.Helper()
	sum := totals{ids: map[string]bool{}, days: map[int32]int{}}
	for {
		row, err := r.Next()
		if err == io.EOF {
			return sum
		}
		if err != nil {
			t.Fatal(err)
		}
		sum.rows++
		if (row.Err == nil) == (len(row.Events) == 0) {
			t.Fatalf("line %d: %d events and error %v", row.Line, len(row.Events), row.Err)
		}
		if row.Err != nil {
			sum.rejected++
		}
		for _, e := range row.Events {
			sum.add(e)
		}
	}
}

func (s *totals) add(e *eventspb.AdEvent) {
	switch e.Type {
	case eventspb.EventType_EVENT_TYPE_IMPRESSION:
		s.impressions++
	case eventspb.EventType_EVENT_TYPE_CLICK:
		s.clicks++
	default:
		s.others++
	}
	s.micros += e.PriceMicros
	s.ids[e.EventId] = true
	s.days[e.BudgetDay]++
}

func (s totals) check(t *testing.T, want totals) {
	t.Helper()
	if s.rows != want.rows || s.rejected != want.rejected || s.impressions != want.impressions || s.clicks != want.clicks ||
		s.others != want.others || s.micros != want.micros {
		t.Errorf("rows %d rejected %d impressions %d clicks %d others %d micros %d, want %d %d %d %d %d %d", s.rows, s.rejected,
			s.impressions, s.clicks, s.others, s.micros, want.rows, want.rejected, want.impressions, want.clicks, want.others, want.micros)
	}
	if got := s.impressions + s.clicks + s.others; len(s.ids) != got {
		t.Errorf("%d events have %d different ids", got, len(s.ids))
	}
}

// ipinyou220k are the options of the README's command.
func ipinyou220k(t testing.TB) Options {
	t.Helper()
	m, err := ParseMap("campaign=campaign,time=hour_start_cst,price=payprice_cpm_fen,click=click")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Format: FormatCSV, Account: "ipinyou", Currency: "CNY", TZ: "Asia/Shanghai", PriceUnit: "cpm-fen", Map: m}
}

func open(t testing.TB, path string, opt Options) *Reader {
	t.Helper()
	src, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := NewReader(src, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRealIPinYouTable checks the totals that the README and the publisher state: 14,712,509
// CPM-fen and 156 clicks.
func TestRealIPinYouTable(t *testing.T) {
	path := dataFile(t, "ads/ipinyou_1458_220k.csv.gz")
	sum := count(t, open(t, path, ipinyou220k(t)))
	sum.check(t, totals{rows: 220_000, impressions: 220_000, clicks: 156, micros: 147_125_090})
	again := count(t, open(t, path, ipinyou220k(t)))
	for id := range again.ids {
		if !sum.ids[id] {
			t.Fatalf("the second reading made a new id %s", id)
		}
	}
}

// TestRealIPinYouLog compares the totals of the log with a recount by strings.Split.
func TestRealIPinYouLog(t *testing.T) {
	path := dataFile(t, "ads/ipinyou_raw_99rows.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := totals{}
	var first time.Time
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		cols := strings.Split(line, "\t")
		if i == 0 {
			if cols[0] != "click" || cols[23] != "payprice" || cols[25] != "advertiser" {
				t.Fatalf("not the header this test knows: %q", line)
			}
			continue
		}
		fen, err := strconv.ParseInt(cols[23], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want.rows++
		want.impressions++
		want.micros += fen * 10
		if cols[0] == "1" {
			want.clicks++
		}
		if i == 1 {
			if first, err = time.ParseInLocation("20060102150405.000", cols[4][:14]+"."+cols[4][14:], shanghaiZone(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want.rows != 99 {
		t.Fatalf("%d rows, want 99", want.rows)
	}
	sum := count(t, open(t, path, Options{Format: FormatIPinYou}))
	sum.check(t, want)
	if len(sum.days) != 1 || sum.days[20130606] == 0 {
		t.Errorf("days %v, want 20130606 alone", sum.days)
	}

	row, err := open(t, path, Options{Format: FormatIPinYou}).Next()
	if err != nil || row.Err != nil {
		t.Fatal(err, row.Err)
	}
	e := row.Events[0]
	if e.Account != "ipinyou" || e.Campaign != "1458" || e.Currency != "CNY" || e.EventMs != first.UnixMilli() || e.IngestMs != 0 ||
		e.InsertionId != "81aced04baad90f9358aa39a4521cd6f" || row.Line != 2 {
		t.Errorf("first row, line %d: %v; want time %d", row.Line, e, first.UnixMilli())
	}

	// The same log as published: without the header and the three columns of the preparation.
	var raw bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if cols := strings.SplitN(line, "\t", 4); cols[0] != "click" {
			raw.WriteString(cols[3] + "\r\n")
		}
	}
	r, err := NewReader(&raw, Options{Format: FormatIPinYou})
	if err != nil {
		t.Fatal(err)
	}
	want.clicks = 0 // a separate log contains them
	count(t, r).check(t, want)
}

func shanghaiZone(t testing.TB) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestRealOpenBandit(t *testing.T) {
	for _, name := range []string{"men", "women"} {
		t.Run(name, func(t *testing.T) {
			path := dataFile(t, "ads/openbandit_random_"+name+".csv.gz")
			rows := readAllCSV(t, path)
			want := totals{rows: len(rows), impressions: len(rows)}
			for _, row := range rows {
				if row["click"] == "1" {
					want.clicks++
				}
			}
			count(t, open(t, path, Options{Format: FormatOpenBandit})).check(t, want)
			priced := Options{Format: FormatOpenBandit, Price: "12", PriceUnit: unitMicros, ClickPrice: "3400", Currency: "USD"}
			want.micros = 12*int64(want.impressions) + 3400*int64(want.clicks)
			sum := count(t, open(t, path, priced))
			sum.check(t, want)

			first, err := open(t, path, priced).Next()
			if err != nil || first.Err != nil {
				t.Fatal(err, first.Err)
			}
			at, err := time.Parse("2006-01-02 15:04:05.999999-07:00", rows[0]["timestamp"])
			if err != nil {
				t.Fatal(err)
			}
			if e := first.Events[0]; e.EventMs != at.UnixMilli() || e.Campaign != rows[0]["item_id"] || e.Account != "openbandit" {
				t.Errorf("first event %v, want time %v and campaign %s", e, at, rows[0]["item_id"])
			}
		})
	}
}

// readAllCSV is the simple reference: encoding/csv into maps.
func readAllCSV(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(zr).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[string]string, 0, len(table)-1)
	for _, cols := range table[1:] {
		row := map[string]string{}
		for i, name := range table[0] {
			row[name] = cols[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func BenchmarkTable(b *testing.B) {
	path := dataFile(b, "ads/ipinyou_1458_220k.csv.gz")
	opt := ipinyou220k(b)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		r := open(b, path, opt)
		for {
			if _, err := r.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
}
