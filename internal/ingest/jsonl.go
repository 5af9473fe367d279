package ingest

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/weirhq/weir/events/eventspb"
)

// jsonl reads one flat JSON object by AdEvent's field names. It is stricter than protobuf's JSON where leniency could
// move money: an unknown field, a field given twice and a number that is not whole reject the row.
type jsonl struct {
	row    []byte
	pos    int
	fields map[string]uint32 // a bit for each field of AdEvent
	seen   uint32            // the bits of this row's fields
}

func newJSONL() *jsonl {
	p := &jsonl{fields: map[string]uint32{}}
	fields := (*eventspb.AdEvent)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		p.fields[string(fields.Get(i).Name())] = 1 << i
	}
	return p
}

func (p *jsonl) parse(row *rawRow, d *draft) *Rejection {
	if !utf8.Valid(row.raw) {
		return reject(ReasonJSON, "the row is not UTF-8")
	}
	p.row, p.pos, p.seen = row.raw, 0, 0
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
	bit, known := p.fields[string(name)]
	switch {
	case !known:
		names := slices.Sorted(maps.Keys(p.fields))
		return reject(ReasonUnknownField, "AdEvent has no field %q: did you mean %q?", clip(name), nearest(string(name), names))
	case p.seen&bit != 0:
		return reject(ReasonJSON, "field %q is given twice", clip(name))
	}
	p.seen |= bit
	p.space()
	if bytes.HasPrefix(p.row[p.pos:], []byte("null")) {
		p.pos += len("null")
		return nil
	}
	if to := d.textField(name); to != nil {
		*to, err = p.text()
	} else if to := d.numberField(name); to != nil {
		*to, err = p.number(name)
	} else {
		err = p.special(name, d)
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
	return reject(ReasonUnknownField, "field %q of AdEvent cannot be read from a file by this release", clip(name))
}
