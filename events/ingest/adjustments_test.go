package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// adjustmentsOf reads all rows of a CSV.
func adjustmentsOf(t testing.TB, text string, opt AdjustmentOptions) (good []*eventspb.Adjustment, rows []Row) {
	t.Helper()
	r, err := NewAdjustmentReader(strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return good, rows
		}
		if err != nil {
			t.Fatal(err)
		}
		if (row.Err == nil) != (row.Adjustment != nil) || row.Events != nil {
			t.Fatalf("line %d: %+v", row.Line, row)
		}
		row.Raw = bytes.Clone(row.Raw)
		if row.Adjustment != nil && !row.Repeated {
			good = append(good, proto.CloneOf(row.Adjustment))
		}
		rows = append(rows, row)
	}
}

const adjustmentsHead = "reference_id,account,campaign,budget_day,amount,currency,serving_dc,reason\n"

func TestAdjustments(t *testing.T) {
	all := AdjustmentOptions{Unit: "major", Account: "acme", Currency: "USD", ServingDC: "eu", Reason: "credit"}
	for name, c := range map[string]struct {
		text string
		opt  AdjustmentOptions
		want string // text of the adjustment, or the reason and a part of the detail
	}{
		"all columns":        {adjustmentsHead + "r,a,c,20261101,12.5,EUR,us,invalid_traffic", AdjustmentOptions{Unit: "major"}, "r a c 20261101 12500000 EUR us invalid_traffic"},
		"options":            {"reference_id,campaign,budget_day,amount\nr,c,2026-11-01,3", all, "r acme c 20261101 3000000 USD eu credit"},
		"empty cells":        {adjustmentsHead + "r,,c,20261101,1,,,", all, "r acme c 20261101 1000000 USD eu credit"},
		"default reason":     {adjustmentsHead + "r,a,c,20261101,1,USD,eu,", AdjustmentOptions{Unit: "cent"}, "r a c 20261101 10000 USD eu refund"},
		"map and dialect":    {"Ref;Cid;Day;Betrag\nr;c;20261101;1,25", AdjustmentOptions{Unit: "major", Account: "a", Currency: "EUR", ServingDC: "eu", Delimiter: ';', Decimal: ',', Map: map[string]string{"reference_id": "Ref", "campaign": "Cid", "budget_day": "Day", "amount": "Betrag"}}, "r a c 20261101 1250000 EUR eu refund"},
		"no reference":       {adjustmentsHead + ",a,c,20261101,1,USD,eu,", all, "bad_reference no reference_id"},
		"no account":         {adjustmentsHead + "r,,c,20261101,1,USD,eu,", AdjustmentOptions{Unit: "major"}, "empty_account no account"},
		"no campaign":        {adjustmentsHead + "r,a,,20261101,1,USD,eu,", all, "empty_campaign no campaign"},
		"no serving dc":      {adjustmentsHead + "r,a,c,20261101,1,USD,,", AdjustmentOptions{Unit: "major"}, "no_serving_dc no serving_dc"},
		"no currency":        {adjustmentsHead + "r,a,c,20261101,1,,eu,", AdjustmentOptions{Unit: "major"}, "unknown_currency no currency"},
		"currency":           {adjustmentsHead + "r,a,c,20261101,1,usd,eu,", all, "unknown_currency capitals"},
		"reason":             {adjustmentsHead + "r,a,c,20261101,1,USD,eu,gift", all, "bad_reason write refund, credit"},
		"no day":             {adjustmentsHead + "r,a,c,,1,USD,eu,", all, "bad_budget_day the day of the spend"},
		"31 April":           {adjustmentsHead + "r,a,c,20260431,1,USD,eu,", all, "bad_budget_day not a date"},
		"negative":           {adjustmentsHead + "r,a,c,20261101,-1,USD,eu,", all, "bad_amount without a sign"},
		"nothing":            {adjustmentsHead + "r,a,c,20261101,0.00,USD,eu,", all, "bad_amount more than 0"},
		"no amount":          {adjustmentsHead + "r,a,c,20261101,,USD,eu,", all, "bad_amount "},
		"words":              {adjustmentsHead + "r,a,c,20261101,one,USD,eu,", all, "bad_amount not an amount in major"},
		"too fine":           {adjustmentsHead + "r,a,c,20261101,0.0000001,USD,eu,", all, "bad_amount whole micros"},
		"too much":           {adjustmentsHead + "r,a,c,20261101,9223372036855,USD,eu,", all, "bad_amount exceeds int64"},
		"NUL":                {adjustmentsHead + "r\x00,a,c,20261101,1,USD,eu,", all, "bad_id NUL"},
		"long":               {adjustmentsHead + strings.Repeat("r", 257) + ",a,c,20261101,1,USD,eu,", all, "bad_id 257 bytes"},
		"not UTF-8":          {adjustmentsHead + "r,a,c\xff,20261101,1,USD,eu,", all, "bad_id UTF-8"},
		"columns":            {adjustmentsHead + "r,a,c,20261101,1,USD", all, "column_count 6 columns"},
		"quote":              {adjustmentsHead + "\"r,a,c,20261101,1,USD,eu,", all, "bad_quote closes"},
		"quoted and escaped": {adjustmentsHead + "\"r,\"\"1\"\"\",a,c,20261101,1,USD,eu,", all, `r,"1" a c 20261101 1000000 USD eu credit`},
	} {
		_, rows := adjustmentsOf(t, c.text, c.opt)
		if len(rows) != 1 {
			t.Errorf("%s: %d rows", name, len(rows))
			continue
		}
		if err := rows[0].Err; err != nil {
			if reason, detail, _ := strings.Cut(c.want, " "); err.Reason != reason || !strings.Contains(err.Detail, detail) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		a := rows[0].Adjustment
		if got := fmt.Sprintf("%s %s %s %d %d %s %s %s", a.ReferenceId, a.Account, a.Campaign, a.BudgetDay, a.Micros, a.Currency, a.ServingDc, a.Reason); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAdjustmentOptions: a file that cannot be read as meant is refused before its first row.
func TestAdjustmentOptions(t *testing.T) {
	good := AdjustmentOptions{Unit: "major", Account: "a", Currency: "USD", ServingDC: "eu"}
	for want, c := range map[string]struct {
		text   string
		change func(*AdjustmentOptions)
	}{
		"the unit of the amounts has to be named": {adjustmentsHead, func(o *AdjustmentOptions) { o.Unit = "" }},
		`unit "cpm" of amounts`:                   {adjustmentsHead, func(o *AdjustmentOptions) { o.Unit = "cpm" }},
		`reason "gift": use refund`:               {adjustmentsHead, func(o *AdjustmentOptions) { o.Reason = "gift" }},
		"not an active ISO 4217 code":             {adjustmentsHead, func(o *AdjustmentOptions) { o.Currency = "usd" }},
		"datacentre \"a\\x00\" contains a NUL":    {adjustmentsHead, func(o *AdjustmentOptions) { o.ServingDC = "a\x00" }},
		"no column is mapped to reference_id: map one by reference_id=COLUMN; the header has":       {"campaign,budget_day,amount\n", func(*AdjustmentOptions) {}},
		"no column is mapped to serving_dc: map one by serving_dc=COLUMN, or give one for all rows": {"reference_id,campaign,budget_day,amount\n", func(o *AdjustmentOptions) { o.ServingDC = "" }},
		`column map: unknown field "reference": did you mean "reference_id"? The fields are`:        {adjustmentsHead, func(o *AdjustmentOptions) { o.Map = map[string]string{"reference": "x"} }},
		`the header looks separated by ';'`:                                                         {strings.ReplaceAll(adjustmentsHead, ",", ";"), func(*AdjustmentOptions) {}},
		"the input is empty":                                                                        {"", func(*AdjustmentOptions) {}},
	} {
		opt := good
		c.change(&opt)
		if _, err := NewAdjustmentReader(strings.NewReader(c.text), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRunAdjustments: equal rows are produced once, and a reference with two contents is rejected
// each time.
func TestRunAdjustments(t *testing.T) {
	const row = "r1,a,c,20261101,1.5,USD,eu,\n"
	other := strings.Replace(row, "1.5", "2.5", 1)
	text := adjustmentsHead + row + other + row + other + strings.Replace(row, ",a,", ",b,", 1) + strings.Replace(strings.Replace(row, "USD", "EUR", 1), "r1", "r2", 1)
	r, err := NewAdjustmentReader(strings.NewReader(text), AdjustmentOptions{Unit: "major"})
	if err != nil {
		t.Fatal(err)
	}
	sink, rejects, first := &memorySink{}, noRejects(t), 0
	sum, err := Run(t.Context(), r, Job{Sink: sink, Rejects: rejects, First: func(row *Row) {
		if first++; row.Adjustment.GetMicros() != 1_500_000 {
			t.Errorf("the first row is %v", row.Adjustment)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	sum.Seconds = 0
	want := Summary{Read: 6, Produced: 3, Rejected: 2, Repeated: 1, Micros: map[string]int64{"USD": 3_000_000, "EUR": 1_500_000}, RejectsFile: rejects.Name()}
	if !reflect.DeepEqual(sum, want) || len(sink.imports) > 0 || first != 1 {
		t.Errorf("%+v, want %+v; %d imports, %d first rows", sum, want, len(sink.imports), first)
	}
	got := &eventspb.Adjustment{}
	if err := proto.Unmarshal(sink.values[1], got); err != nil || got.Account != "b" || got.ReferenceId != "r1" || got.Reason != "refund" {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzAdjustments: no row is lost, and the spend counter accepts each adjustment that the reader
// accepts.
func FuzzAdjustments(f *testing.F) {
	f.Add([]byte("r,a,c,20261101,12.5,EUR,us,invalid_traffic\n\"r\",a,c,20261101,1e3,EUR,us,\n"))
	f.Add([]byte("r,a,c,20261101,1,EUR,us,\nr,a,c,20261101,2,EUR,us,\n\n\"\"\"\n,,,,,,,\r\nr\x00,\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		good, rows := adjustmentsOf(t, adjustmentsHead+string(text), AdjustmentOptions{Unit: "major", Account: "acme", ServingDC: "eu", MaxRowBytes: 1 << 12})
		var kept []byte
		size := 0
		for _, row := range rows {
			kept, size = append(kept, row.Raw...), max(size, int(row.Size))
		}
		ends := strings.NewReplacer("\r", "", "\n", "") // line ends of rows, of blank lines and inside quotes
		if size <= 1<<12 && ends.Replace(string(kept)) != ends.Replace(string(text)) {
			t.Fatalf("%q was read as %q", text, kept)
		}
		seen := map[string]bool{}
		b := &stream.Batch{Topic: events.AdjustmentsTopic}
		for i, a := range good {
			if key := a.Account + "\x00" + a.ReferenceId; seen[key] {
				t.Fatalf("reference %q is accepted twice", key)
			} else {
				seen[key] = true
			}
			value, err := proto.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			b.Records = append(b.Records, stream.Record{Value: value, Offset: int64(i), TimeMs: 1_800_000_000_000})
		}
		c, err := spendcounter.New(spendcounter.Config{Shard: func([]byte) int32 { return 0 }}, stream.Task{
			Get: func(byte, []byte) ([]byte, error) { return nil, nil }, Scan: func(byte, []byte, func(key, value []byte) error) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Fold(b); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Rejects {
			if r.Reason != spendcounter.ReasonOverflow {
				t.Fatalf("the counter rejects %v: %s %s", good[r.Index], r.Reason, r.Detail)
			}
		}
	})
}
