package ingest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// jsonlParser parses one flat JSON object per row, by AdEvent's field names.
//
// encoding/json validates the row and decodes strings with escapes. This package walks over the
// members of the valid object itself, because json.Unmarshal is lenient where leniency moves money:
// it matches field names without regard to case, takes the last of two fields with one name, and
// replaces half a surrogate pair, so that two ids can become one. json.Decoder.Token shows all of
// this, but reads 180,000 rows per second and CPU where the walk reads 750,000.
//
// A row that is not valid JSON is rejected with ReasonJSON, whatever else is wrong with it.
type jsonlParser struct {
	fields map[string]uint32 // one bit for each field of AdEvent
	seen   uint32            // the bits of this row's fields
}

// jsonSpace is the white space of JSON (RFC 8259, section 2).
const jsonSpace = " \t\r\n"

func newJSONLParser() *jsonlParser {
	p := &jsonlParser{fields: map[string]uint32{}}
	fields := (*eventspb.AdEvent)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		p.fields[string(fields.Get(i).Name())] = 1 << i
	}
	return p
}

func (p *jsonlParser) parse(row *rawRow, d *draft) *stream.RejectError {
	if !utf8.Valid(row.raw) {
		return reject(ReasonJSON, "the row is not UTF-8: convert the file")
	}
	if !json.Valid(row.raw) {
		return syntaxError(row.raw)
	}
	rest := strings.TrimLeft(string(row.raw), jsonSpace)
	if rest[0] != '{' {
		return reject(ReasonJSON, "the row is %s: write an object {...} with the fields of AdEvent", clip(rest))
	}
	p.seen = 0
	for rest = strings.TrimLeft(rest[1:], jsonSpace); rest[0] != '}'; {
		var name, value string
		name, rest = cutScalar(rest)
		value, rest = cutScalar(strings.TrimLeft(rest[1:], jsonSpace)) // after the colon
		if err := p.member(name, value, d); err != nil {
			return err
		}
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ","), jsonSpace)
	}
	return nil
}

// cutScalar cuts s after the string, number or literal that it begins with. s is a valid JSON
// object from there on. A nested object or array is cut somewhere inside, which shows in its first
// byte.
func cutScalar(s string) (scalar, rest string) {
	end := 1
	if s[0] == '"' {
		for ; s[end] != '"'; end++ {
			if s[end] == '\\' {
				end++
			}
		}
		end++
	} else {
		end = strings.IndexAny(s, ",}"+jsonSpace)
	}
	return s[:end], strings.TrimLeft(s[end:], jsonSpace)
}

// member puts one member of the object into d. name is still quoted.
func (p *jsonlParser) member(name, value string, d *draft) (err *stream.RejectError) {
	if name, err = stringValue("a field's name", name); err != nil {
		return err
	}
	bit, known := p.fields[name]
	switch {
	case !known:
		names := slices.Sorted(maps.Keys(p.fields))
		return reject(ReasonUnknownField, "AdEvent has no field %q: did you mean %q?", clip(name), nearest(name, names))
	case p.seen&bit != 0:
		return reject(ReasonJSON, "field %q is given twice: leave one of them out", clip(name))
	}
	p.seen |= bit
	if value == "null" {
		return nil
	}
	if to := d.textField(name); to != nil {
		*to, err = stringValue(name, value)
	} else if to := d.numberField(name); to != nil {
		*to, err = wholeNumber(name, value)
	} else {
		err = d.setOther(name, value)
	}
	return err
}

func (d *draft) textField(name string) *string {
	switch name {
	case "event_id":
		return &d.eventID
	case "account":
		return &d.account
	case "campaign":
		return &d.campaign
	case "currency":
		return &d.currency
	case "serving_dc":
		return &d.servingDC
	case "insertion_id":
		return &d.insertionID
	case "line_item":
		return &d.lineItem
	case "arm":
		return &d.arm
	}
	return nil
}

func (d *draft) numberField(name string) *int64 {
	switch name {
	case "price_micros":
		return &d.priceMicros
	case "event_ms":
		return &d.eventMs
	case "ingest_ms":
		return &d.ingestMs
	}
	return nil
}

// setOther parses the fields that are neither a text nor a plain number.
func (d *draft) setOther(name, value string) (err *stream.RejectError) {
	switch name {
	case "type":
		if value, err = stringOrNumber(name, value); err == nil {
			d.eventType, err = parseEventType(value)
		}
		return err
	case "budget_day":
		if value, err = stringOrNumber(name, value); err != nil {
			return err
		}
		var ok bool
		if d.budgetDay, ok = parseDay(value); !ok && value != "0" {
			return reject(ReasonDay, "%q is not a date: write YYYY-MM-DD", clip(value))
		}
		return nil
	}
	return reject(ReasonUnknownField, "this release does not read field %q of AdEvent from a file: leave the field out", clip(name))
}

// stringValue returns the text of a JSON string. What names the value in a rejection.
func stringValue(what, value string) (string, *stream.RejectError) {
	if value[0] != '"' {
		return "", reject(ReasonJSON, "%s is %s: write a string", what, clip(value))
	}
	if strings.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], nil
	}
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		return "", reject(ReasonJSON, "%s: %v", what, err)
	}
	if strings.ContainsRune(text, utf8.RuneError) { // stands for half a surrogate pair
		return "", reject(ReasonJSON, `%s is %s, with half a surrogate pair: write both \u escapes, or the character itself`, what,
			clip(value))
	}
	return text, nil
}

// stringOrNumber returns the text of a JSON string or the characters of a JSON number.
func stringOrNumber(what, value string) (string, *stream.RejectError) {
	switch ch := value[0]; {
	case ch == '"':
		return stringValue(what, value)
	case ch == '-' || ch >= '0' && ch <= '9':
		return value, nil
	}
	return "", reject(ReasonJSON, "%s is %s: write a number or a string", what, clip(value))
}

// wholeNumber parses a whole number, given as a JSON number or as a JSON string.
func wholeNumber(what, value string) (int64, *stream.RejectError) {
	text, err := stringOrNumber(what, value)
	if err != nil {
		return 0, err
	}
	n, parseErr := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(parseErr, strconv.ErrRange) && what == "price_micros":
		return 0, reject(ReasonPriceOverflow, "%s is %s, which exceeds int64 micros", what, clip(text))
	case parseErr != nil || text[0] == '+':
		return 0, reject(ReasonJSON, "%s is %q: write a whole number of at most 64 bits", what, clip(text))
	}
	return n, nil
}
