package item

import (
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// Decoder reads items from DynamoDB's JSON. Its zero value is ready to use. It keeps its buffers
// from call to call, so a server has one for each connection. It is not safe for concurrent use.
//
// Invalid input gives an Error. The code Serialization means that the JSON has the wrong shape:
// DynamoDB looks for such errors in the whole request before it looks for others. So after an error
// of code Validation the scanner stands after the value, and the caller reads the rest of the
// request before it answers with that error. For a text that is not JSON the error is the
// scanner's, and the result is undefined.
type Decoder struct {
	enc     []byte // encoding of the input so far; undefined after an error
	spans   []span // attributes and elements of the containers that are being read
	sorted  []byte
	invalid *Error
	key     string // the attribute of the outermost map that invalid is about
}

// span is the position of an attribute or an element in Decoder.enc.
type span struct {
	start, end int // the whole attribute or element
	key        int // start of the sort key, which follows its length
	keyEnd     int
}

// Item reads the next item: {"name":{"S":"x"},...}.
func (d *Decoder) Item(s *jsonscan.Scanner) (Item, error) {
	if err := d.read(s, true); err != nil {
		return Item{}, err
	}
	if d.invalid != nil {
		return Item{}, d.invalid
	}
	return Item{string(d.enc)}, nil
}

// Value reads the next value: {"S":"x"}.
func (d *Decoder) Value(s *jsonscan.Scanner) (Value, error) {
	if err := d.read(s, false); err != nil {
		return Value{}, err
	}
	if d.invalid != nil {
		return Value{}, d.invalid
	}
	return Value{string(d.enc)}, nil
}

// List reads the next list of values, [{"S":"x"},...], and appends them to dst. The values share
// one string.
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

// Values reads the next ExpressionAttributeValues: an item whose names begin with a colon.
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

// refuse keeps the first validation error.
func (d *Decoder) refuse(e *Error) {
	if d.invalid == nil {
		d.invalid = e
	}
}

// attributes reads the attributes of an object that is inside depth lists and maps.
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
		if valid && d.invalid != nil { // the attribute of the outermost map is set last
			d.key = string(d.enc[key:keyEnd])
		}
	}
	if !d.arrange(base) {
		d.dropEarlier(base)
	}
	d.spans = d.spans[:base]
	return s.Err()
}
