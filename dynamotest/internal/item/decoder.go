package item

import (
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// Decoder reads items from the wire's JSON. Its zero value works. It keeps memory from call to call, so a server has one
// for each connection; it is not for several goroutines at once.
//
// Bad input gives an Error. One of code Serialization says that the JSON has another shape: the service looks for those
// in the whole request first, and then at everything else. So after a Validation error the scanner stands behind the
// value, and the caller goes on reading the request before it answers with that error. Text that is no JSON at all is
// the scanner's error, and leaves the result undefined.
type Decoder struct {
	enc     []byte // what has been read; no matter what, once something was refused
	spans   []span // attributes and elements of the containers that are being read
	sorted  []byte
	invalid *Error
	key     string // which attribute of the outermost map invalid is about
}

// span is an attribute or an element in Decoder.enc.
type span struct {
	start, end int // all of it
	key        int // where that begins which it is sorted by, after the length
	keyEnd     int
}

// Item reads the item that comes: {"name":{"S":"x"},...}.
func (d *Decoder) Item(s *jsonscan.Scanner) (Item, error) {
	if err := d.read(s, true); err != nil {
		return Item{}, err
	}
	if d.invalid != nil {
		return Item{}, d.invalid
	}
	return Item{string(d.enc)}, nil
}

// Value reads the value that comes: {"S":"x"}.
func (d *Decoder) Value(s *jsonscan.Scanner) (Value, error) {
	if err := d.read(s, false); err != nil {
		return Value{}, err
	}
	if d.invalid != nil {
		return Value{}, d.invalid
	}
	return Value{string(d.enc)}, nil
}

// List reads the list of values that comes, [{"S":"x"},...], and appends them to dst. They share their memory.
func (d *Decoder) List(s *jsonscan.Scanner, dst []Value) ([]Value, error) {
	d.enc, d.spans, d.invalid = d.enc[:0], d.spans[:0], nil
	if err := d.list(s, 0); err != nil {
		return dst, err
	}
	if d.invalid != nil {
		return dst, d.invalid
	}
	for rest := string(d.enc); rest != ""; {
		end := valueEnd(rest)
		dst = append(dst, Value{rest[:end]})
		rest = rest[end:]
	}
	return dst, nil
}

// Values reads the ExpressionAttributeValues that come: an item whose names begin with a colon.
func (d *Decoder) Values(s *jsonscan.Scanner) (Item, error) {
	it, err := d.Item(s)
	if err == nil || err != error(d.invalid) || d.invalid.Message == tooDeep { //nolint:errorlint // it is this one or another
		return it, err
	}
	return Item{}, Invalid("ExpressionAttributeValues contains invalid value: " + d.invalid.Message + " for key " + d.key)
}

// read reads an item or a value into enc. The error is about the shape, or the scanner's.
func (d *Decoder) read(s *jsonscan.Scanner, item bool) error {
	d.enc, d.spans, d.invalid = d.enc[:0], d.spans[:0], nil
	if item {
		return d.attributes(s, 0)
	}
	return d.value(s, 0)
}

// refuse notes a validation error, if it is the first.
func (d *Decoder) refuse(e *Error) {
	if d.invalid == nil {
		d.invalid = e
	}
}

// attributes reads the attributes of an object inside depth lists and maps.
func (d *Decoder) attributes(s *jsonscan.Scanner, depth int) error {
	if !s.Enter('{') {
		return mapShape(s)
	}
	base := len(d.spans)
	for s.Next('}') {
		name, valid, start := s.Key(), d.invalid == nil, len(d.enc)
		d.enc = appendUvarint(d.enc, len(name))
		key := len(d.enc)
		d.enc = append(d.enc, name...)
		keyEnd := len(d.enc)
		if err := d.value(s, depth); err != nil {
			return err
		}
		d.spans = append(d.spans, span{start, len(d.enc), key, keyEnd})
		if valid && d.invalid != nil { // the outer ones come last
			d.key = string(d.enc[key:keyEnd])
		}
	}
	if !d.arrange(base) {
		d.dropEarlier(base)
	}
	d.spans = d.spans[:base]
	return s.Err()
}
