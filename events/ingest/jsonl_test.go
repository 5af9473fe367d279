package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

const goodJSON = `{"event_id":"e1","account":"a1","campaign":"c1","type":"impression","price_micros":1234,"currency":"USD","event_ms":1384000000000}`

func goodEvent() *eventspb.AdEvent {
	return &eventspb.AdEvent{
		EventId: "e1", Account: "a1", Campaign: "c1", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
		PriceMicros: 1234, Currency: "USD", EventMs: 1384000000000, BudgetDay: 20131109,
	}
}

func readOne(t testing.TB, opt Options, text string) Row {
	t.Helper()
	r, err := NewReader(strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestJSONLAccepts(t *testing.T) {
	with := func(change func(e *eventspb.AdEvent)) *eventspb.AdEvent {
		e := goodEvent()
		change(e)
		return e
	}
	replace := func(old, by string) string { return strings.Replace(goodJSON, old, by, 1) }
	for _, c := range []struct {
		name, text string
		want       *eventspb.AdEvent
	}{
		{"the least", goodJSON, goodEvent()},
		{"spaces", " { \"event_id\" : \"e1\" ,\t" + goodJSON[len(`{"event_id":"e1",`):] + " \r\n", goodEvent()},
		{"numbers as strings", replace(`1234`, `"1234"`), goodEvent()},
		{"type by enum name", replace(`"impression"`, `"EVENT_TYPE_IMPRESSION"`), goodEvent()},
		{"type by number", replace(`"impression"`, `1`), goodEvent()},
		{"another type", replace(`"impression"`, `"video_view"`), with(func(e *eventspb.AdEvent) { e.Type = eventspb.EventType_EVENT_TYPE_VIDEO_VIEW })},
		{"null is absent", replace(`{`, `{"arm":null,"budget_day":null,`), goodEvent()},
		{"no price", replace(`"price_micros":1234,`, ``), with(func(e *eventspb.AdEvent) { e.PriceMicros = 0 })},
		{"the greatest price", replace(`1234`, `1000000000000000`), with(func(e *eventspb.AdEvent) { e.PriceMicros = 1000000000000000 })},
		{"escapes", replace(`"e1"`, `"\u0065\u00e9\ud83d\ude00\"\/"`), with(func(e *eventspb.AdEvent) { e.EventId = "eé😀\"/" })},
		{
			"all fields", replace(`{`, `{"line_item":"l","arm":"x","insertion_id":"i","serving_dc":"d","budget_day":20131110,"ingest_ms":"7",`),
			with(func(e *eventspb.AdEvent) {
				e.LineItem, e.Arm, e.InsertionId, e.ServingDc, e.BudgetDay, e.IngestMs = "l", "x", "i", "d", 20131110, 7
			}),
		},
	} {
		row := readOne(t, Options{Format: FormatJSONL}, c.text)
		if row.Err != nil {
			t.Errorf("%s: rejected: %v", c.name, row.Err)
			continue
		}
		if len(row.Events) != 1 || !proto.Equal(row.Events[0], c.want) || row.Derived {
			t.Errorf("%s: %v, want %v", c.name, row.Events, c.want)
		}
	}
}

func TestJSONLRejects(t *testing.T) {
	for _, c := range []struct{ old, new, reason, detail string }{
		{goodJSON, `[]`, ReasonJSON, "object"},
		{goodJSON, `{`, ReasonJSON, "string"},
		{goodJSON, `{}`, ReasonEmptyAccount, ""},
		{goodJSON, `{"event_id":"e1",}`, ReasonJSON, "string"},
		{goodJSON, goodJSON + `{}`, ReasonJSON, "end of the row"},
		{`"e1",`, `"e1" `, ReasonJSON, "comma"},
		{`"event_id":`, `"event_id" `, ReasonJSON, "colon"},
		{`"campaign"`, `"campain"`, ReasonUnknownField, `"campain": did you mean "campaign"`},
		{`"campaign":"c1"`, `"eventId":{"x":[1]}`, ReasonUnknownField, `"eventId"`},
		{`"campaign":"c1"`, `"extra":null`, ReasonUnknownField, `"extra"`},
		{`"campaign":"c1"`, `"campaign":"c1","campaign":"c2"`, ReasonJSON, "twice"},
		{`"c1"`, `{"a":1}`, ReasonJSON, "string"},
		{`"c1"`, `1`, ReasonJSON, "string"},
		{`"c1"`, `"c1`, ReasonJSON, ""},
		{`"c1"`, "\"c\t1\"", ReasonJSON, "control"},
		{`"c1"`, `"\x"`, ReasonJSON, "JSON string"},
		{`"c1"`, `"\ud800"`, ReasonJSON, "surrogate"},
		{`"c1"`, `"\u0000"`, ReasonID, "NUL"},
		{`"c1"`, "\"\xff\"", ReasonJSON, "UTF-8"},
		{`"c1"`, `""`, ReasonEmptyCampaign, ""},
		{`"c1"`, `"` + strings.Repeat("c", 257) + `"`, ReasonID, "257"},
		{`"e1"`, `"` + strings.Repeat("c", 257) + `"`, ReasonID, "257"},
		{`"a1"`, `""`, ReasonEmptyAccount, ""},
		{`"account":"a1",`, ``, ReasonEmptyAccount, ""},
		{`"type":"impression",`, ``, ReasonUnknownType, ""},
		{`"impression"`, `"Impression"`, ReasonUnknownType, `"Impression"`},
		{`"impression"`, `99`, ReasonUnknownType, "99"},
		{`"impression"`, `0`, ReasonUnknownType, ""},
		{`"impression"`, `-1`, ReasonUnknownType, ""},
		{`"impression"`, `"heartbeat"`, ReasonUnknownType, "heartbeat"},
		{`"impression"`, `true`, ReasonJSON, "number"},
		{`1234`, `-1`, ReasonNegativePrice, "-1"},
		{`1234`, `1.5`, ReasonJSON, "1.5"},
		{`1234`, `1e3`, ReasonJSON, "1e3"},
		{`1234`, `01`, ReasonJSON, ""},
		{`1234`, `""`, ReasonJSON, ""},
		{`1234`, `"+1"`, ReasonJSON, "+1"},
		{`1234`, `9223372036854775808`, ReasonPriceOverflow, "9223372036854775808"},
		{`"USD"`, `"usd"`, ReasonUnknownCurrency, "usd"},
		{`"USD"`, `"ABC"`, ReasonUnknownCurrency, "ABC"},
		{`"currency":"USD",`, ``, ReasonUnknownCurrency, ""},
		{`1384000000000`, `0`, ReasonTime, ""},
		{`1384000000000`, `9223372036854775807`, ReasonTime, ""},
		{`1384000000000`, `1384000000`, ReasonTime, "it looks like seconds"},
		{`1384000000000`, `631151999999`, ReasonTime, "before 1990: write"},
		{`1384000000000`, `253370764799999`, ReasonFuture, "5 minutes"},
		{`{`, `{"ingest_ms":253370764799999,`, ReasonFuture, "5 minutes"},
		{`1234`, `1000000000000001`, ReasonPriceOverflow, "at most 1000000000000000"},
		{`,"event_ms":1384000000000`, ``, ReasonTime, ""},
		{`{`, `{"ingest_ms":-1,`, ReasonTime, "ingest_ms"},
		{`{`, `{"budget_day":20130230,`, ReasonDay, "20130230"},
	} {
		text := strings.Replace(goodJSON, c.old, c.new, 1)
		row := readOne(t, Options{Format: FormatJSONL}, text)
		if row.Err == nil || row.Err.Reason != c.reason || !strings.Contains(row.Err.Detail, c.detail) || len(row.Events) > 0 {
			t.Errorf("%s\n\tgot %v, want %s with %q", text, row.Err, c.reason, c.detail)
		}
		if string(row.Raw) != text || row.Line != 1 {
			t.Errorf("line %d, raw %q", row.Line, row.Raw)
		}
	}
}

// TestFutureIsByNow: the clock does not decide whether a row is in the future, so that two readers
// of one input reject the same rows.
func TestFutureIsByNow(t *testing.T) {
	latest := time.UnixMilli(1384000000000).Add(-5 * time.Minute)
	for now, want := range map[time.Time]string{latest: "", latest.Add(-time.Millisecond): ReasonFuture} {
		row := readOne(t, Options{Format: FormatJSONL, Now: now}, goodJSON)
		if got := row.Err; (got == nil) != (want == "") || got != nil && got.Reason != want {
			t.Errorf("at %v: %v, want %q", now, got, want)
		}
	}
}

// TestJSONLReadsEveryField fails when AdEvent gains a field that the parser does not read.
func TestJSONLReadsEveryField(t *testing.T) {
	fields := (&eventspb.AdEvent{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		var d draft
		if d.textField(name) == nil && d.numberField(name) == nil && name != "type" && name != "budget_day" {
			t.Errorf("format jsonl does not read field %s", name)
		}
	}
}

func TestJSONLDefaultsAndBlankLines(t *testing.T) {
	text := "\n \t\r\n" + `{"campaign":"c1","type":"click","event_ms":1384000000000}` + "\n\n" + `{"campaign":"c1","type":"click","event_ms":1384000000000}`
	r, err := NewReader(strings.NewReader(text), Options{Format: FormatJSONL, Account: "a", Currency: "EUR", DC: "dc1", TZ: "Pacific/Auckland"})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, line := range []int{3, 5} {
		row, err := r.Next()
		if err != nil || row.Err != nil {
			t.Fatal(err, row.Err)
		}
		e := row.Events[0]
		ids[e.EventId] = true
		// 2013-11-09 12:26 UTC is the tenth in Auckland.
		if row.Line != line || e.Account != "a" || e.Currency != "EUR" || e.ServingDc != "dc1" || e.BudgetDay != 20131110 || !row.Derived {
			t.Errorf("line %d: %v", row.Line, e)
		}
	}
	if len(ids) != 2 {
		t.Error("two equal rows at different places have one id")
	}
	for range 2 {
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("behind the end: %v", err)
		}
	}
}

// FuzzJSONL checks that an accepted row has the values that encoding/json decodes, field by field.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte(goodJSON))
	f.Add([]byte(`{"campaign":"c","type":2,"event_ms":"1384000000000","arm":null,"budget_day":"20130606"}`))
	f.Add([]byte(`{"event_id":"\u0041\"","campaign":"c","type":"EVENT_TYPE_FOLLOW","event_ms":1384000000000,"ingest_ms":-0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.ContainsAny(text, "\n") || len(bytes.TrimSpace(text)) == 0 || bytes.HasPrefix(text, []byte(byteOrderMark)) {
			return
		}
		row := readOne(t, Options{Format: FormatJSONL, Account: "acct", Currency: "USD"}, string(text))
		if row.Err != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want map[string]any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("accepted %q, which is not JSON: %v", text, err)
		}
		e := row.Events[0]
		for name, value := range want {
			fd := e.ProtoReflect().Descriptor().Fields().ByTextName(name)
			if fd == nil {
				t.Fatalf("accepted unknown field %q of %q", name, text)
			}
			if value == nil || name == "type" || name == "budget_day" || value == "" {
				continue
			}
			if got := e.ProtoReflect().Get(fd).String(); got != plain(value) {
				t.Fatalf("%s of %q is %q, want %q", name, text, got, plain(value))
			}
		}
	})
}

func plain(v any) string {
	s := ""
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = v
	}
	if s == "-0" {
		return "0"
	}
	return s
}
