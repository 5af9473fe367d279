package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/weirhq/weir/events/eventspb"
)

// jsonl reads one flat JSON object by AdEvent's field names. It is stricter than protobuf's JSON where leniency could
// move money: an unknown field, a field given twice and a number that is not whole reject the row.
type jsonl struct {
	row  []byte
	pos  int
	seen map[string]bool
}

func (p *jsonl) parse(row *rawRow, d *draft) *Rejection {
	if !utf8.Valid(row.raw) {
		return reject(ReasonJSON, "the row is not UTF-8")
	}
	if p.seen == nil {
		p.seen = make(map[string]bool, 16)
	}
	clear(p.seen)
	p.row, p.pos = row.raw, 0
	if !p.take('{') {
		return p.wrong("an object {...}")
	}
	if !p.take('}') {
		for {
			if err := p.member(d); err != nil {
				return err
			}
			if p.take('}') {
				break
			}
			if !p.take(',') {
				return p.wrong("a comma or }")
			}
		}
	}
	if p.space(); p.pos < len(p.row) {
		return p.wrong("the end of the row")
	}
	return nil
}

// member reads "name": value and puts the value into d.
func (p *jsonl) member(d *draft) *Rejection {
	p.space()
	name, err := p.text()
	if err != nil {
		return err
	}
	if !p.take(':') {
		return p.wrong("a colon")
	}
	if p.seen[string(name)] {
		return reject(ReasonJSON, "field %q is given twice", clip(name))
	}
	p.space()
	if bytes.HasPrefix(p.row[p.pos:], []byte("null")) {
		p.pos += len("null")
		return p.known(name)
	}
	if to := d.textField(name); to != nil {
		*to, err = p.text()
	} else if to := d.numberField(name); to != nil {
		*to, err = p.number(name)
	} else {
		err = p.special(name, d)
	}
	if err == nil {
		p.seen[string(name)] = true
	}
	return err
}

func (d *draft) textField(name []byte) *[]byte {
	switch string(name) {
	case "event_id":
		return &d.eventID
	case "account":
		return &d.account
	case "campaign":
		return &d.campaign
	case "currency":
		return &d.currency
	case "serving_dc":
		return &d.dc
	case "insertion_id":
		return &d.insertion
	case "line_item":
		return &d.lineItem
	case "arm":
		return &d.arm
	}
	return nil
}

func (d *draft) numberField(name []byte) *int64 {
	switch string(name) {
	case "price_micros":
		return &d.price
	case "event_ms":
		return &d.eventMs
	case "ingest_ms":
		return &d.ingestMs
	}
	return nil
}

// special reads the fields that are neither text nor a plain number.
func (p *jsonl) special(name []byte, d *draft) (err *Rejection) {
	switch string(name) {
	case "type":
		var v []byte
		if v, err = p.textOrNumber(name); err == nil {
			d.kind, err = parseKind(v)
		}
		return err
	case "budget_day":
		var v []byte
		if v, err = p.textOrNumber(name); err != nil {
			return err
		}
		var ok bool
		if d.day, ok = parseDay(v); !ok && string(v) != "0" {
			return reject(ReasonDay, "%q is not a day: use YYYYMMDD", clip(v))
		}
		return nil
	}
	return p.known(name)
}

// known refuses a name that AdEvent does not have.
func (p *jsonl) known(name []byte) *Rejection {
	fields := (*eventspb.AdEvent)(nil).ProtoReflect().Descriptor().Fields()
	names := make([]string, fields.Len())
	for i := range names {
		if names[i] = string(fields.Get(i).Name()); names[i] == string(name) {
			return nil
		}
	}
	return reject(ReasonUnknownField, "AdEvent has no field %q: did you mean %q?", clip(name), nearest(string(name), names))
}

// number reads a whole number, as a JSON number or in a JSON string.
func (p *jsonl) number(name []byte) (int64, *Rejection) {
	v, err := p.textOrNumber(name)
	if err != nil {
		return 0, err
	}
	n, parseErr := strconv.ParseInt(string(v), 10, 64)
	switch {
	case errors.Is(parseErr, strconv.ErrRange) && string(name) == "price_micros":
		return 0, reject(ReasonPriceOverflow, "%s: %s is more than int64 micros hold", name, clip(v))
	case parseErr != nil || v[0] == '+':
		return 0, reject(ReasonJSON, "%s: %q is not a whole number of at most 64 bits", name, clip(v))
	}
	return n, nil
}

// textOrNumber reads a JSON string or the characters of a JSON number.
func (p *jsonl) textOrNumber(name []byte) ([]byte, *Rejection) {
	if p.pos < len(p.row) && p.row[p.pos] == '"' {
		return p.text()
	}
	from := p.pos
	for p.pos < len(p.row) && bytes.IndexByte([]byte("+-.0123456789eE"), p.row[p.pos]) >= 0 {
		p.pos++
	}
	v := p.row[from:p.pos]
	if !json.Valid(v) {
		return nil, p.wrong("a number for " + string(name))
	}
	return v, nil
}

// text reads a JSON string. It is never nil.
func (p *jsonl) text() ([]byte, *Rejection) {
	if p.pos >= len(p.row) || p.row[p.pos] != '"' {
		return nil, p.wrong("a string")
	}
	from := p.pos
	for i := from + 1; i < len(p.row); i++ {
		switch ch := p.row[i]; {
		case ch == '"':
			p.pos = i + 1
			return p.row[from+1 : i], nil
		case ch == '\\':
			return p.escaped(from, i)
		case ch < ' ':
			p.pos = i
			return nil, p.wrong("no control character in a string")
		}
	}
	return nil, p.wrong("the end of this string")
}

// escaped reads the string that begins at from, whose first backslash is at i.
func (p *jsonl) escaped(from, i int) ([]byte, *Rejection) {
	for i < len(p.row) && p.row[i] != '"' {
		if p.row[i] == '\\' {
			i++
		}
		i++
	}
	var s string
	if i >= len(p.row) || json.Unmarshal(p.row[from:i+1], &s) != nil {
		return nil, p.wrong("a JSON string")
	}
	if bytes.ContainsRune([]byte(s), utf8.RuneError) { // half of a surrogate pair: different ids would become one
		return nil, p.wrong("a string without broken surrogates")
	}
	p.pos = i + 1
	return append([]byte{}, s...), nil
}

// take skips space, and the character ch if it is next.
func (p *jsonl) take(ch byte) bool {
	p.space()
	if p.pos >= len(p.row) || p.row[p.pos] != ch {
		return false
	}
	p.pos++
	return true
}

func (p *jsonl) space() {
	for p.pos < len(p.row) && (p.row[p.pos] == ' ' || p.row[p.pos] == '\t' || p.row[p.pos] == '\r' || p.row[p.pos] == '\n') {
		p.pos++
	}
}

func (p *jsonl) wrong(wanted string) *Rejection {
	return reject(ReasonJSON, "at byte %d: wanted %s, found %q", p.pos+1, wanted, clip(p.row[p.pos:]))
}
