package ingest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
)

func TestUsageErrorsNameTheRemedy(t *testing.T) {
	base := Options{Format: FormatCSV, Account: "a", Currency: "USD", PriceUnit: "micros", Map: map[string]string{"campaign": "camp", "time": "at"}}
	with := func(change func(o *Options)) Options {
		o := base
		o.Map = maps.Clone(base.Map)
		change(&o)
		return o
	}
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{"no format", Options{}, "unknown format"},
		{"format typo", Options{Format: "ipinyu"}, `"ipinyou"`},
		{"unknown field", with(func(o *Options) { o.Map["pricee"] = "camp" }), `"pricee": did you mean "price"`},
		{"unknown column", with(func(o *Options) { o.Map["campaign"] = "campp" }), `"campp" in the header: did you mean "camp"`},
		{"column twice", with(func(o *Options) { o.Map["arm"] = "twice" }), `two columns "twice"`},
		{"a far column", with(func(o *Options) { o.Map["campaign"] = "customer" }), `"customer" in the header. The columns are "camp", "at"`},
		{"decimal", with(func(o *Options) { o.Decimal = ';' }), "point or a comma"},
		{"decimal for jsonl", Options{Format: FormatJSONL, Decimal: ','}, "jsonl"},
		{"time format without a year", with(func(o *Options) { o.TimeFormat = "%d/%m %H:%M" }), "no year"},
		{"time format of Go without a year", with(func(o *Options) { o.TimeFormat = "02.01. 15:04" }), "no year"},
		{"unknown directive", with(func(o *Options) { o.TimeFormat = "%Y-%m-%d %Q" }), `"%Q"`},
		{"name of a zone", with(func(o *Options) { o.TimeFormat = "2006-01-02 15:04 MST" }), "ambiguous"},
		{"no campaign", with(func(o *Options) { delete(o.Map, "campaign") }), "campaign=COLUMN"},
		{"no time", with(func(o *Options) { delete(o.Map, "time") }), "time=COLUMN"},
		{"no map and no such columns", with(func(o *Options) { o.Map = nil }), "campaign=COLUMN"},
		{"no account", with(func(o *Options) { o.Account = "" }), "account=COLUMN"},
		{"no currency", with(func(o *Options) { o.Currency = "" }), "currency=COLUMN"},
		{"bad currency", with(func(o *Options) { o.Currency = "usd" }), `"usd"`},
		{"bad zone", with(func(o *Options) { o.TZ = "Asia/Shangai" }), `"Asia/Shangai"`},
		{"local zone", with(func(o *Options) { o.TZ = "Local" }), `"Local"`},
		{"bad unit", with(func(o *Options) { o.PriceUnit = "gold" }), `"gold"`},
		{"bad price", with(func(o *Options) { o.Price = "x" }), `price: `},
		{"negative click price", with(func(o *Options) { o.ClickPrice = "-1" }), "negative"},
		{"price twice", with(func(o *Options) { o.Price = "1"; o.Map["price"] = "camp" }), "give one"},
		{"type and click", with(func(o *Options) { o.Map["type"] = "camp"; o.Map["click"] = "camp" }), "map one"},
		{"delimiter", with(func(o *Options) { o.Delimiter = '"' }), "delimiter"},
		{"account with NUL", with(func(o *Options) { o.Account = "a\x00" }), "NUL"},
		{"row limit", with(func(o *Options) { o.MaxRowBytes = -1 }), "-1"},
		{"map for jsonl", Options{Format: FormatJSONL, Map: base.Map}, "jsonl"},
		{"delimiter for jsonl", Options{Format: FormatJSONL, Delimiter: ';'}, "jsonl"},
		{"price for ipinyou", Options{Format: FormatIPinYou, Price: "1"}, "ipinyou"},
		{"unit for ipinyou", Options{Format: FormatIPinYou, PriceUnit: "micros"}, "cpm-fen"},
		{"unit for jsonl", Options{Format: FormatJSONL, PriceUnit: "cent"}, "price_micros"},
		{"open bandit without its header", Options{Format: FormatOpenBandit}, "item_id"},
	} {
		r, err := NewReader(strings.NewReader("camp,at,twice,twice\n"), c.opt)
		if err == nil || r != nil || !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error with %s", c.name, err, c.want)
		}
	}
	for text, want := range map[string]string{"": "empty", "\"a\n": "header row", strings.Repeat("x", 30): "header row"} {
		if _, err := NewReader(strings.NewReader(text), with(func(o *Options) { o.MaxRowBytes = 20 })); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("header %q: %v", text, err)
		}
	}
}

// TestPriceUnitIsRequired: an error asks for the unit of a file with prices.
func TestPriceUnitIsRequired(t *testing.T) {
	csv := Options{Format: FormatCSV, Account: "a", Currency: "USD"}
	fixed, click := csv, csv
	fixed.Price, click.ClickPrice = "1", "1"
	for name, c := range map[string]struct {
		header string
		opt    Options
		want   string
	}{
		"column":      {"campaign,time,price\n", csv, `"price"`},
		"fixed price": {"campaign,time\n", fixed, "the fixed price"},
		"click price": {"campaign,time\n", click, "the fixed price"},
		"open bandit": {"", Options{Format: FormatOpenBandit, Price: "1"}, "the fixed price"},
	} {
		_, err := NewReader(strings.NewReader(c.header), c.opt)
		if !errors.Is(err, ErrUsage) || !errors.Is(err, ErrNoPriceUnit) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "major (") {
			t.Errorf("%s: %v, want the units and %s", name, err, c.want)
		}
	}
	if _, err := NewReader(strings.NewReader("campaign,time\n"), csv); err != nil {
		t.Errorf("a file without prices: %v", err)
	}
}

// TestHeaderOfAnotherDelimiter: the error has the delimiter for a remedy.
func TestHeaderOfAnotherDelimiter(t *testing.T) {
	opt := Options{Format: FormatCSV, Account: "a", Currency: "USD"}
	for _, looks := range []byte(";\t|") {
		header := strings.Join([]string{"campaign", "time"}, string(rune(looks)))
		var err *DelimiterError
		if _, e := NewReader(strings.NewReader(header+"\n"), opt); !errors.As(e, &err) || !errors.Is(e, ErrUsage) || err.Looks != looks {
			t.Errorf("%q: %v", header, e)
		}
		right := opt
		right.Delimiter = looks
		if _, e := NewReader(strings.NewReader(header+"\n"), right); e != nil {
			t.Errorf("%q with its delimiter: %v", header, e)
		}
	}
}

// TestHeaderIsQuoted: a header must not control the terminal.
func TestHeaderIsQuoted(t *testing.T) {
	opt := Options{Format: FormatCSV, Account: "a", Currency: "USD"}
	for _, m := range []map[string]string{nil, {"campaign": "\x1b[31mci"}, {"campaign": "x"}} {
		opt.Map = m
		_, err := NewReader(strings.NewReader("\x1b]0;pwned\a\x1b[31mcid,\u009b1m,"+strings.Repeat("x,", 500)+"\n"), opt)
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\a\u009b") || len(err.Error()) > 2000 {
			t.Errorf("%v: %q", m, err)
		}
	}
}

func TestDecimalComma(t *testing.T) {
	opt := Options{Format: FormatCSV, Account: "a", Currency: "EUR", PriceUnit: "major", Delimiter: ';', Decimal: ','}
	for price, want := range map[string]int64{"1,50": 1_500_000, "2": 2_000_000, "0,000001": 1, "1.50": -1, "1.000,50": -1, "1,5,0": -1} {
		row := readOne(t, opt, "campaign;time;price\nc;1741500000;"+price)
		if want < 0 && (row.Err == nil || row.Err.Reason != ReasonPrice) || want >= 0 && (row.Err != nil || row.Events[0].PriceMicros != want) {
			t.Errorf("%s: %v, %v; want %d", price, row.Events, row.Err, want)
		}
	}
	opt.Decimal = 0
	if row := readOne(t, opt, "campaign;time;price\nc;1741500000;1,50"); row.Err == nil || !strings.Contains(row.Err.Detail, "set the decimal mark") {
		t.Errorf("a comma: %v", row.Err)
	}
}

func TestTimeFormat(t *testing.T) {
	for _, c := range []struct {
		format, text, want string // in Europe/Berlin
	}{
		{"", "2026-11-20 11:00", "2026-11-20T10:00:00Z"},
		{"", "2026-11-20T11:00+02:00", "2026-11-20T09:00:00Z"},
		{"", "2026-11-20", ""},
		{"%Y-%m-%d", "2026-11-20", "2026-11-19T23:00:00Z"},
		{"%d/%m/%Y %H:%M", "20/11/2026 11:00", "2026-11-20T10:00:00Z"},
		{"%d/%m/%Y %H:%M", "11/20/2026 11:00", ""},
		{"%d.%m.%y %I:%M %p", "20.11.26 01:30 PM", "2026-11-20T12:30:00Z"},
		{"%d/%b/%Y:%H:%M:%S %z", "20/Nov/2026:11:00:00 +0000", "2026-11-20T11:00:00Z"},
		{"%F %T.%f", "2026-11-20 11:00:00.250", "2026-11-20T10:00:00.25Z"},
		{"02/01/2006 15:04", "20/11/2026 11:00", "2026-11-20T10:00:00Z"},
	} {
		opt := Options{Format: FormatCSV, Account: "a", Currency: "EUR", TZ: "Europe/Berlin", TimeFormat: c.format}
		row := readOne(t, opt, "campaign,time\nc,"+c.text)
		got := ""
		if row.Err == nil {
			got = time.UnixMilli(row.Events[0].EventMs).UTC().Format(time.RFC3339Nano)
		} else if row.Err.Reason != ReasonTime {
			t.Errorf("%s by %q: %v", c.text, c.format, row.Err)
		}
		if got != c.want {
			t.Errorf("%s by %q is %q (%v), want %q", c.text, c.format, got, row.Err, c.want)
		}
	}
}

func TestParseMap(t *testing.T) {
	m, err := ParseMap("campaign=Camp aign, time=a=b")
	if want := map[string]string{"campaign": "Camp aign", "time": "a=b"}; err != nil || !maps.Equal(m, want) {
		t.Errorf("%v, %v; want %v", m, err, want)
	}
	for _, text := range []string{"", "campaign", "campaign=", "=x", "a=b,", "a=b,a=c"} {
		if m, err := ParseMap(text); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
}

func TestTable(t *testing.T) {
	const header = "id;account;campaign;time;price;type;currency;line;arm;dc;ins;day\n"
	opt := Options{Format: FormatCSV, Delimiter: ';', PriceUnit: "cent", TZ: "America/New_York", Account: "default", Currency: "JPY", Map: map[string]string{
		"event_id": "id", "account": "account", "campaign": "campaign", "time": "time", "price": "price", "type": "type", "currency": "currency",
		"line_item": "line", "arm": "arm", "serving_dc": "dc", "insertion_id": "ins", "budget_day": "day",
	}}
	full := &eventspb.AdEvent{
		EventId: "e1", Account: "a", Campaign: "c;1", Type: eventspb.EventType_EVENT_TYPE_CLICK, PriceMicros: 12_500,
		Currency: "USD", BudgetDay: 20250310, EventMs: 1741500000000, ServingDc: "d", InsertionId: "i", LineItem: "l", Arm: "x",
	}
	row := readOne(t, opt, header+`e1;a;"c;1";2025-03-09 02:00:00-04:00;1.25;click;USD;l;x;d;i;2025-03-10`)
	if row.Err != nil || len(row.Events) != 1 || !proto.Equal(row.Events[0], full) {
		t.Errorf("%v, %v; want %v", row.Events, row.Err, full)
	}
	for text, want := range map[string]string{
		"e1;a;c;1741500000;1;click;USD;l;x;d;i":                   ReasonColumns,
		"e1;;c;1741500000;1;click;USD;l;x;d;i;":                   ReasonEmptyAccount,
		"e1;a;;1741500000;1;click;USD;l;x;d;i;":                   ReasonEmptyCampaign,
		"e1;a;c;;1;click;USD;l;x;d;i;":                            ReasonTime,
		"e1;a;c;1741500000;;click;USD;l;x;d;i;":                   ReasonPrice,
		"e1;a;c;1741500000;1,5;click;USD;l;x;d;i;":                ReasonPrice,
		"e1;a;c;1741500000;0.00001;click;USD;l;x;d;i;":            ReasonPrice,
		"e1;a;c;1741500000;-1;click;USD;l;x;d;i;":                 ReasonNegativePrice,
		"e1;a;c;1741500000;922337203685478;click;USD;;;;;":        ReasonPriceOverflow,
		"e1;a;c;1741500000;1e999;click;USD;l;x;d;i;":              ReasonPriceOverflow,
		"e1;a;c;1741500000;1;clack;USD;l;x;d;i;":                  ReasonUnknownType,
		"e1;a;c;1741500000;1;click;;l;x;d;i;":                     ReasonUnknownCurrency,
		"e1;a;c;1741500000;1;click;ZZZ;l;x;d;i;":                  ReasonUnknownCurrency,
		"e1;a;c;1741500000;1;click;USD;l;x;d;i;2025-02-29":        ReasonDay,
		"e1;a;c\x00;1741500000;1;click;USD;l;x;d;i;":              ReasonID,
		"e1;a;c;1741500000;1;click;USD;\xff;x;d;i;":               ReasonID,
		"e1;a;c;1741500000;1;click;USD;l;x;d;\x00;":               ReasonID,
		strings.Repeat("e", 257) + ";a;c;1741500000;1;1;USD;;;;;": ReasonID,
		`e1;"a"b;c;1741500000;1;click;USD;l;x;d;i;`:               ReasonQuote,
	} {
		if row := readOne(t, opt, header+text+"\n"); row.Err == nil || row.Err.Reason != want || row.Line != 2 || string(row.Raw) != text {
			t.Errorf("%s: line %d, %v; want %s", text, row.Line, row.Err, want)
		}
	}
}

func TestClickColumn(t *testing.T) {
	opt := Options{
		Format: FormatCSV, Account: "a", Currency: "USD", PriceUnit: "major", ClickPrice: "0.5", TZ: "Asia/Shanghai",
		Map: map[string]string{"event_id": "id", "campaign": "c", "time": "t", "price": "p", "click": "k"},
	}
	for value, clicks := range map[string]int{"": 0, "0": 0, "false": 0, "1": 1, "TRUE": 1, " 1 ": 1, "2": -1, "yes": -1} {
		row := readOne(t, opt, "id,c,t,p,k\ne1,c1,2013-06-06 00:30:00,2,"+value)
		if clicks < 0 {
			if row.Err == nil || row.Err.Reason != ReasonClick {
				t.Errorf("%q: %v", value, row.Err)
			}
			continue
		}
		if row.Err != nil || len(row.Events) != 1+clicks {
			t.Errorf("%q: %d events, %v", value, len(row.Events), row.Err)
			continue
		}
		imp := &eventspb.AdEvent{
			EventId: "e1", Account: "a", Campaign: "c1", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
			PriceMicros: 2_000_000, Currency: "USD", BudgetDay: 20130606, EventMs: 1370449800000,
		}
		click := proto.CloneOf(imp)
		click.EventId, click.Type, click.PriceMicros = "e1:click", eventspb.EventType_EVENT_TYPE_CLICK, 500_000
		for i, want := range []*eventspb.AdEvent{imp, click}[:1+clicks] {
			if !proto.Equal(row.Events[i], want) {
				t.Errorf("%q: event %d is %v, want %v", value, i, row.Events[i], want)
			}
		}
	}
	long := strings.Repeat("e", 252)
	if row := readOne(t, opt, "id,c,t,p,k\n"+long+",c1,1370449800,2,1"); row.Err == nil || row.Err.Reason != ReasonID {
		t.Errorf("an id without room for the click's: %v", row.Err)
	}
}

// TestNoMap: columns whose names are those of fields need no map.
func TestNoMap(t *testing.T) {
	row := readOne(t, Options{Format: FormatCSV, Currency: "EUR", PriceUnit: "micros"}, "seq, campaign ,account,time,price\n0,c,a,1370449800,17\n")
	want := &eventspb.AdEvent{
		Account: "a", Campaign: "c", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, PriceMicros: 17, Currency: "EUR",
		BudgetDay: 20130605, EventMs: 1370449800000,
	}
	if row.Err != nil || !row.Derived {
		t.Fatal(row.Err)
	}
	want.EventId = row.Events[0].EventId
	if !proto.Equal(row.Events[0], want) {
		t.Errorf("%v, want %v", row.Events[0], want)
	}
}

func TestIPinYou(t *testing.T) {
	cols := func(n int, set map[int]string) string {
		row := slices.Repeat([]string{"null"}, n)
		more := n - logColumns
		for i, v := range map[int]string{0: "bid1", 1: "20130606000104828", 2: "1", 20: "51", 22: "1458"} {
			row[i+more] = v
		}
		for i, v := range set {
			row[i] = v
		}
		return strings.Join(row, "\t")
	}
	const imp, click, conv = eventspb.EventType_EVENT_TYPE_IMPRESSION, eventspb.EventType_EVENT_TYPE_CLICK, eventspb.EventType_EVENT_TYPE_CONVERSION
	for _, c := range []struct {
		name, text string
		types      []eventspb.EventType
		micros     int64
		reason     string
	}{
		{"impression", cols(24, nil), []eventspb.EventType{imp}, 510, ""},
		{"click log", cols(24, map[int]string{2: "2"}), []eventspb.EventType{click}, 0, ""},
		{"conversion log", cols(24, map[int]string{2: "3", 20: "null"}), []eventspb.EventType{conv}, 0, ""},
		{"bid log", cols(24, map[int]string{2: "0"}), nil, 0, ReasonUnknownType},
		{"27 columns", cols(27, map[int]string{0: "0"}), []eventspb.EventType{imp}, 510, ""},
		{"27 columns, clicked", cols(27, map[int]string{0: "1"}), []eventspb.EventType{imp, click}, 510, ""},
		{"27 columns, bad click", cols(27, map[int]string{0: "x"}), nil, 0, ReasonClick},
		{"no advertiser", cols(24, map[int]string{22: ""}), nil, 0, ReasonEmptyCampaign},
		{"no price", cols(24, map[int]string{20: "null"}), nil, 0, ReasonPrice},
		{"bad time", cols(24, map[int]string{1: "20130631000104828"}), nil, 0, ReasonTime},
		{"first season", strings.Join(slices.Repeat([]string{"x"}, 22), "\t"), nil, 0, ReasonColumns},
		{"quotes are nothing special", cols(24, map[int]string{4: `Mozilla "x`}), []eventspb.EventType{imp}, 510, ""},
	} {
		row := readOne(t, Options{Format: FormatIPinYou, TZ: "UTC"}, c.text)
		if c.reason != "" {
			if row.Err == nil || row.Err.Reason != c.reason {
				t.Errorf("%s: %v, want %s", c.name, row.Err, c.reason)
			}
			continue
		}
		if row.Err != nil || len(row.Events) != len(c.types) {
			t.Errorf("%s: %v, %v", c.name, row.Events, row.Err)
			continue
		}
		for i, e := range row.Events {
			// 00:01:04.828 in Shanghai is 16:01 of the previous day in UTC, the zone of the budget
			// day here.
			if e.Type != c.types[i] || e.EventMs != 1370448064828 || e.BudgetDay != 20130605 || e.Campaign != "1458" || e.InsertionId != "bid1" ||
				e.Currency != "CNY" || i == 0 && e.PriceMicros != c.micros || i > 0 && e.PriceMicros != 0 {
				t.Errorf("%s: event %d: %v", c.name, i, e)
			}
		}
	}
	if _, err := NewReader(strings.NewReader("bidid\ttimestamp\tlogtype\tpayprice\n"), Options{Format: FormatIPinYou}); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "advertiser") {
		t.Errorf("a header without advertiser: %v", err)
	}
	r, err := NewReader(strings.NewReader(""), Options{Format: FormatIPinYou})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("an empty log: %v", err)
	}
}

func TestDerivedIDs(t *testing.T) {
	text := "c,t\nx,1370449800\nx,1370449800\n"
	ids := func(text string, opt Options) []string {
		opt.Format, opt.Account, opt.Currency, opt.Map = FormatCSV, "a", "USD", map[string]string{"campaign": "c", "time": "t"}
		r, err := NewReader(strings.NewReader(text), opt)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		eachEvent(t, r, func(e *eventspb.AdEvent) { list = append(list, e.EventId) })
		return list
	}
	first := ids(text, Options{})
	// The derivation of ids is a promise: after a change, rows that were imported before count
	// again.
	if want := []string{"ebomao21k9ip1ke35g1ctiik3g", "rc1cs10378djep4bb3us32n9cs"}; !slices.Equal(first, want) {
		t.Errorf("ids %q, want %q", first, want)
	}
	if got := ids("c,t\r\n\r\nx,1370449800\r\nx,1370449800", Options{}); !slices.Equal(got, first) {
		t.Errorf("line ends and blank lines changed the ids: %q", got)
	}
	if got := ids(text, Options{IDSpace: "monday"}); got[0] == first[0] {
		t.Error("another id space made the same ids")
	}
	if got := ids("c,t\nx,1370449800\ny,1370449800\nbad\nx,1370449800\n", Options{}); got[0] != first[0] || got[2] != first[1] || len(got) != 3 {
		t.Errorf("other rows between equal ones changed the ids of these: %q", got)
	}
}

// TestDistance compares distance with its recursive definition.
func TestDistance(t *testing.T) {
	var dumb func(a, b string) int
	dumb = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return dumb(a[1:], b[1:])
		}
		return 1 + min(dumb(a[1:], b), dumb(a, b[1:]), dumb(a[1:], b[1:]))
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[abc]{0,6}")
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), dumb(a, b); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// FuzzReader checks that no format panics, loses a row or accepts an event that the spend counter
// would refuse.
func FuzzReader(f *testing.F) {
	f.Add(byte(0), []byte("c,t,p,k\nx,1370449800,5,1\n\"\nx,1,2,3\n"))
	f.Add(byte(1), []byte(goodJSON+"\n{}\n"))
	f.Add(byte(2), []byte(strings.Repeat("1\t", 23)+"1\n"))
	f.Add(byte(3), []byte(",timestamp,item_id,position,click\n0,2019-11-24 00:03:13.442536+00:00,14,3,1\n"))
	f.Add(byte(2), []byte("click\tbidid\ttimestamp\tlogtype\tpayprice\tadvertiser\n1\tb\t20130606000104828\t1\t51\t1458\n"))
	f.Fuzz(func(t *testing.T, format byte, text []byte) {
		opt := []Options{
			{Format: FormatCSV, Account: "a", Currency: "USD", PriceUnit: "micros", Map: map[string]string{"campaign": "c", "time": "t", "price": "p", "click": "k"}},
			{Format: FormatJSONL, Account: "a", Currency: "USD"},
			{Format: FormatIPinYou},
			{Format: FormatOpenBandit, Price: "1", PriceUnit: "major"},
		}[format%4]
		opt.MaxRowBytes = 300
		r, err := NewReader(strings.NewReader(string(text)), opt)
		if err != nil {
			return
		}
		rows := 0
		for {
			row, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			rows++
			if (row.Err == nil) == (len(row.Events) == 0) || len(row.Events) > 2 {
				t.Fatalf("line %d: %d events, %v", row.Line, len(row.Events), row.Err)
			}
			for _, e := range row.Events {
				if err := acceptable(e); err != nil {
					t.Fatalf("line %d %q: %v", row.Line, row.Raw, err)
				}
			}
		}
		if uint64(rows) != r.rows.count {
			t.Fatalf("%d rows came out, %d were cut", rows, r.rows.count)
		}
	})
}

// acceptable returns an error for an event that the spend counter would refuse.
func acceptable(e *eventspb.AdEvent) error {
	if _, err := proto.Marshal(e); err != nil {
		return err
	}
	for _, s := range []string{e.EventId, e.Account, e.Campaign, e.ServingDc, e.InsertionId, e.LineItem, e.Arm} {
		if len(s) > 256 || strings.Contains(s, "\x00") {
			return fmt.Errorf("id %q", s)
		}
	}
	switch {
	case e.EventId == "" || e.Account == "" || e.Campaign == "" || len(e.Currency) != 3:
		return fmt.Errorf("something is empty: %v", e)
	case e.PriceMicros < 0 || e.EventMs <= 0 || e.BudgetDay < 19700101 || e.BudgetDay > 99991231:
		return fmt.Errorf("out of range: %v", e)
	case e.Type == eventspb.EventType_EVENT_TYPE_UNSPECIFIED || e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT:
		return fmt.Errorf("type %v", e.Type)
	}
	return nil
}
