package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhq/weir/events/eventspb"
)

// FuzzJSONLTokens compares the walk over a row's members with json.Decoder.Token, which is slow:
// both must give the same draft, or reject the row for the same reason.
func FuzzJSONLTokens(f *testing.F) {
	f.Add([]byte(goodJSON))
	for _, seed := range []string{
		`{}`, `[]`, `1`, `null`, ` { "arm" : null , "arm" : 1 } `, `{"event_id":"\u0041\"\\","price_micros":-0,"budget_day":"2013-06-06"}`,
		`{"arm":"\ud800"}`, `{"arm":"\ud83d\ude00"}`, `{"\u0061rm":"x"}`, `{"Arm":"x"}`, `{"arm":{"a":"}"}}`, `{"type":[1]}`, `{"type":1.5,"event_ms":1e3}`,
		`{"price_micros":"9223372036854775808"}`, `{"event_ms":9223372036854775808}`, `{"arm":"x"}{}`, `{"arm":"x",}`, `{"arm":tru}`, "{\"arm\":\"\xef\xbf\xbd\\n\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if isSpace(text) {
			return
		}
		var got, want draft
		reason := tokenParse(text, &want)
		err := newJSONLParser().parse(&rawRow{raw: text}, &got)
		switch {
		case (err == nil) != (reason == "") || err != nil && err.Reason != reason:
			t.Fatalf("%q: %v, want reason %q", text, err, reason)
		case err == nil && got != want:
			t.Fatalf("%q: %+v, want %+v", text, got, want)
		}
	})
}

// tokenParse parses text by json.Decoder.Token and returns the reason to reject it.
func tokenParse(text []byte, d *draft) (reason string) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return ReasonJSON
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return ReasonJSON
	}
	names := slices.Collect(maps.Keys(newJSONLParser().fields))
	seen := map[string]bool{}
	for dec.More() {
		name, broken := textToken(dec, text)
		field, isText := name.(string)
		switch {
		case broken || !isText || seen[field]:
			return ReasonJSON
		case !slices.Contains(names, field):
			return ReasonUnknownField
		}
		seen[field] = true
		value, broken := textToken(dec, text)
		if broken {
			return ReasonJSON
		}
		if reason := setMember(d, field, value); reason != "" {
			return reason
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return ReasonJSON
	}
	if _, err := dec.Token(); err != io.EOF {
		return ReasonJSON
	}
	return ""
}

// textToken returns the next token. It is broken if it is an error, or a string with half a
// surrogate pair.
func textToken(dec *json.Decoder, text []byte) (token json.Token, broken bool) {
	from := dec.InputOffset()
	token, err := dec.Token()
	s, _ := token.(string)
	escaped := bytes.Contains(text[from:dec.InputOffset()], []byte{'\\'})
	return token, err != nil || escaped && strings.ContainsRune(s, utf8.RuneError)
}

// setMember sets a field of d to a token and returns the reason to reject it.
func setMember(d *draft, field string, value json.Token) (reason string) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	if value == nil {
		return ""
	}
	if to := d.textField(field); to != nil {
		if !isText {
			return ReasonJSON
		}
		*to = text
		return ""
	}
	if isNumber {
		text = number.String()
	} else if !isText {
		return ReasonJSON
	}
	if to := d.numberField(field); to != nil {
		n, err := strconv.ParseInt(strings.TrimPrefix(text, "+"), 10, 64)
		*to = n
		switch {
		case err != nil && field == "price_micros" && strings.Contains(err.Error(), "out of range"):
			return ReasonPriceOverflow
		case err != nil || strings.HasPrefix(text, "+"):
			return ReasonJSON
		}
		return ""
	}
	if field == "type" {
		for name, n := range eventspb.EventType_value {
			if t := strings.TrimSpace(text); t == name || t == strings.ToLower(strings.TrimPrefix(name, "EVENT_TYPE_")) && n > 0 {
				d.eventType = eventspb.EventType(n)
				return ""
			}
		}
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		d.eventType = eventspb.EventType(n)
		if err != nil {
			return ReasonUnknownType
		}
		return ""
	}
	var ok bool
	if d.budgetDay, ok = parseDay(text); !ok && text != "0" {
		return ReasonDay
	}
	return ""
}
