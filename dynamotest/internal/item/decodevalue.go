package item

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

const (
	emptyValue = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	tooMany    = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	tooDeep    = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

// value reads a value that is inside depth lists and maps.
func (d *Decoder) value(s *jsonscan.Scanner, depth int) error {
	if s.Peek() == 'n' { // null is read as {}
		s.Skip()
		d.refuse(Invalid(emptyValue))
		return s.Err()
	}
	if !s.Enter('{') {
		return structShape(s)
	}
	if depth >= MaxDepth {
		d.refuse(TooDeep())
	}
	found := 0
	for s.Next('}') {
		kind := ParseKind(string(s.Key()))
		if kind == Missing || s.Peek() == 'n' { // read as absent
			s.Skip()
			continue
		}
		if err := d.content(s, kind, depth); err != nil {
			return err
		}
		found++
	}
	switch {
	case s.Err() != nil:
		return s.Err()
	case found == 0:
		d.refuse(Invalid(emptyValue))
	case found > 1:
		d.refuse(Invalid(tooMany))
	}
	return nil
}

// content reads the JSON after the name of a type.
func (d *Decoder) content(s *jsonscan.Scanner, kind Kind, depth int) error {
	switch kind {
	case S, N, B:
		return d.scalar(s, kind)
	case BOOL, NULL:
		return d.bool(s, kind)
	default:
		return d.container(s, kind, depth)
	}
}

func (d *Decoder) bool(s *jsonscan.Scanner, kind Kind) error {
	if c := s.Peek(); c != 't' && c != 'f' {
		return boolShape(s)
	}
	is := s.Bool()
	switch {
	case kind == NULL && !is:
		d.refuse(invalidParameter("Null attribute value types must have the value of true"))
	case kind == NULL:
		d.enc = append(d.enc, byte(NULL))
	case is:
		d.enc = append(d.enc, byte(BOOL), 1)
	default:
		d.enc = append(d.enc, byte(BOOL), 0)
	}
	return s.Err()
}

// container reads the array or object of a list, a map or a set.
func (d *Decoder) container(s *jsonscan.Scanner, kind Kind, depth int) error {
	at := len(d.enc)
	d.enc = append(d.enc, byte(kind), 0)
	var err error
	switch {
	case kind == M:
		err = d.attributes(s, depth+1)
	case kind == L:
		err = d.list(s, depth+1)
	default:
		err = d.set(s, kind)
	}
	d.close(at)
	return err
}

// close writes the length of the complete value that begins at the index.
func (d *Decoder) close(at int) {
	n := len(d.enc) - at - 2
	if n < 0x80 {
		d.enc[at+1] = byte(n)
		return
	}
	var room [10]byte
	length := appendUvarint(room[:0], n)
	d.enc = slices.Replace(d.enc, at+1, at+2, length...)
}

// scalar reads an S, N or B, each of which is a string in JSON.
func (d *Decoder) scalar(s *jsonscan.Scanner, kind Kind) error {
	if s.Peek() != '"' {
		return textShape(s, kind)
	}
	text := s.Text()
	at := len(d.enc)
	switch kind {
	case N:
		number, err := parseNumber(text)
		if err != nil {
			d.refuse(err)
			return s.Err()
		}
		d.enc = number.appendPayload(append(d.enc, byte(N), 0))
		d.enc[at+1] = byte(len(d.enc) - at - 2)
	case B:
		return d.binary(text)
	default:
		d.enc = appendUvarint(append(d.enc, byte(S)), len(text))
		d.enc = append(d.enc, text...)
	}
	return s.Err()
}

func (d *Decoder) binary(text []byte) error {
	if len(text)%4 != 0 {
		return &Error{Serialization, "Base64 encoded length is expected a multiple of 4 bytes but found: " + strconv.Itoa(len(text))}
	}
	at := len(d.enc)
	d.enc = append(d.enc, byte(B), 0)
	out, err := base64.StdEncoding.Strict().AppendDecode(d.enc, text)
	if err != nil || bytes.ContainsAny(text, "\r\n") { // the decoder ignores line ends
		return &Error{Serialization, "Invalid last non-pad Base64 character dectected"}
	}
	d.enc = out
	d.close(at)
	return nil
}

func (d *Decoder) list(s *jsonscan.Scanner, depth int) error {
	if !s.Enter('[') {
		return listShape(s)
	}
	for s.Next(']') {
		if err := d.value(s, depth); err != nil {
			return err
		}
	}
	return s.Err()
}
