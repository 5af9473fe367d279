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
		{"csv with quotes", "\ufeffc,t,k\r\n\"x\",1370449800,1\r\n\"y\r\nz\",1370449800,\r\n\"open\r\nbad\"row,1370449800,\r\n\r\nx,1370449800,0", table, []string{"un8hcslgs08rr3g12umaimt59c", "a7m4lnjmuq9reep1lkqtdlou6c", "v2q6ueef2v1cpofifhbdmejhko", "c9psj33dc31s48o7vqvrn8umgc"}},
		{"csv of an id space", "account;campaign;time;currency\na;\"b;\"\"c\"\"\";1370449800;USD\n", semicolon, []string{"5tdv6gpruo92jebib3hgfcgvp0"}},
		{"jsonl", "\n {\"account\":\"a\", \"campaign\":\"\\u0063\",\"type\":1,\"event_ms\":\"1384000000000\",\"currency\":\"USD\"} \r\n{\n" + strings.Replace(goodJSON, `"event_id":"e1",`, "", 1), Options{Format: FormatJSONL}, []string{"dlhvernkd2gs6tlpapoj6vnc5g", "0epntiq072vcq04qhqr5eutcj0"}},
		{"ipinyou", "b\t20130606000104828\t1" + strings.Repeat("\t\"x", 17) + "\t51\tx\t1458\tx\r\n", Options{Format: FormatIPinYou}, []string{"a260kg5l5q4o94ji7q9i6clq5c"}},
		{"openbandit", ",timestamp,item_id,position,click\n0,2019-11-24 00:03:13.442536+00:00,14,3,1\n", Options{Format: FormatOpenBandit}, []string{"u0g5cn5a941hgc5smia1cfg1qc", "ls9237picn9cph6vuisdj6hc4s"}},
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
		"ads/ipinyou_1458_220k.csv.gz":       {ipinyou220k(t), "fd4941e30159d04ef415cf55d515e254db14ab0f65040703cfb078050a67c85e"},
		"ads/ipinyou_raw_99rows.txt":         {Options{Format: FormatIPinYou}, "c5b1485419164854544cd10746e35c449f2dd2de0b2c1d94726ca808476647f5"},
		"ads/openbandit_random_men.csv.gz":   {Options{Format: FormatOpenBandit, Price: "12", PriceUnit: unitMicros}, "3f195b7a0a308cb63682966235629e4d8ced23d05888a920dacd99cf7e3f749a"},
		"ads/openbandit_random_women.csv.gz": {Options{Format: FormatOpenBandit, ClickPrice: "3", PriceUnit: unitMicros}, "c8918dd82ef60e27e55993a5630a8c6227f5bcb25dd0e6ce94f1b20f04e7e10b"},
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
