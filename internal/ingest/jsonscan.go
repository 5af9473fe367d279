package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

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
