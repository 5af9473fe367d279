package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// TestGoldenIDs holds the derived ids of every format, and of rows with quotes, line ends inside
// quotes, a byte order mark and rejected rows before them.
func TestGoldenIDs(t *testing.T) {
	table := Options{Format: FormatCSV, Account: "a", Currency: "USD", Map: map[string]string{"campaign": "c", "time": "t", "click": "k"}}
	semicolon := Options{Format: FormatCSV, Delimiter: ';', IDSpace: "march"}
	for _, c := range []struct {
		name, text string
		opt        Options
		want       []string
	}{
		{"csv with quotes", "\ufeffc,t,k\r\n\"x\",1370449800,1\r\n\"y\r\nz\",1370449800,\r\n\"open\r\nbad\"row,1370449800,\r\n\r\nx,1370449800,0", table, []string{"p2v9jcvq1b0ldbg1fffgs22s7g", "vdg9s4hgs2pnclicjehpmsnbgs", "c0a0hb1rghtohht18vodpj18kc", "6rmi1vmjbqrcccjv1ie0apct1g"}},
		{"csv of an id space", "account;campaign;time;currency\na;\"b;\"\"c\"\"\";1370449800;USD\n", semicolon, []string{"mf8u0e0795tbgsq34nt0ong8qk"}},
		{"jsonl", "\n {\"account\":\"a\", \"campaign\":\"\\u0063\",\"type\":1,\"event_ms\":\"1384000000000\",\"currency\":\"USD\"} \r\n{\n" + strings.Replace(goodJSON, `"event_id":"e1",`, "", 1), Options{Format: FormatJSONL}, []string{"98a2hcgp90ti3nvf1h5488c58o", "kkaipafq70eo3ia4n8pksr75ac"}},
		{"ipinyou", "b\t20130606000104828\t1" + strings.Repeat("\t\"x", 17) + "\t51\tx\t1458\tx\r\n", Options{Format: FormatIPinYou}, []string{"nsfhp74ci7kju77q8eagmi9fc0"}},
		{"openbandit", ",timestamp,item_id,position,click\n0,2019-11-24 00:03:13.442536+00:00,14,3,1\n", Options{Format: FormatOpenBandit}, []string{"r0otdm43auefbjbn45ptkear4k", "psuakkj7mkfa5rblsjb7pgrkh8"}},
	} {
		r, err := NewReader(strings.NewReader(c.text), c.opt)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		eachEvent(t, r, func(e *eventspb.AdEvent) { got = append(got, e.EventId) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: ids %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRealGoldenRecords holds a digest of all records of the real files.
func TestRealGoldenRecords(t *testing.T) {
	for name, c := range map[string]struct {
		opt  Options
		want string
	}{
		"ads/ipinyou_1458_220k.csv.gz":       {ipinyou220k(t), "b53d5fd069d593ddf24c9d636bb30004360f7beaf067dbe774daf989d1c7b91b"},
		"ads/ipinyou_raw_99rows.txt":         {Options{Format: FormatIPinYou}, "3405fe9e395c04140d8a1bc108d281758b8143365e04f9ffb5f242a75c55e0ca"},
		"ads/openbandit_random_men.csv.gz":   {Options{Format: FormatOpenBandit, Price: "12", PriceUnit: unitMicros}, "cc66151d905ff9683d21783639b807dcf5b204b56b35b83299d5d47fea0688f8"},
		"ads/openbandit_random_women.csv.gz": {Options{Format: FormatOpenBandit, ClickPrice: "3", PriceUnit: unitMicros}, "d227a11c697250d759919e2da1023507c3d6b2e316c3e243cba8387932484974"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, dataFile(t, name), c.opt)
			digest := sha256.New()
			var record []byte
			eachEvent(t, r, func(e *eventspb.AdEvent) {
				record = events.AppendEvent(record[:0], e)
				digest.Write(record)
			})
			if got := hex.EncodeToString(digest.Sum(nil)); got != c.want {
				t.Errorf("digest %s, want %s", got, c.want)
			}
		})
	}
}

// eachEvent calls f with each event of the accepted rows.
func eachEvent(t *testing.T, r *Reader, f func(*eventspb.AdEvent)) {
	t.Helper()
	for {
		row, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range row.Events {
			f(e)
		}
	}
}
