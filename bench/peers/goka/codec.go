package main

import (
	"fmt"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
)

// eventCodec decodes ad events with weir's decoder.
type eventCodec struct{}

// Decode returns an *events.View that refers to data.
func (eventCodec) Decode(data []byte) (any, error) {
	e := new(events.View)
	return e, e.Decode(data)
}

// Encode fails: the program only reads events.
func (eventCodec) Encode(value any) ([]byte, error) {
	return nil, fmt.Errorf("cannot encode %T: this program only reads events", value)
}

// sums is the value of a spend key.
type sums struct{ micros, count int64 }

// sumsCodec encodes and decodes sums in the format of totals.Value.
type sumsCodec struct{}

// Encode takes sums.
func (sumsCodec) Encode(value any) ([]byte, error) {
	s, ok := value.(sums)
	if !ok {
		return nil, fmt.Errorf("cannot encode %T, want sums", value)
	}
	return totals.Value(make([]byte, 0, 16), s.micros, s.count), nil
}

// Decode returns sums.
func (sumsCodec) Decode(data []byte) (any, error) {
	micros, count, err := totals.Sums(data)
	return sums{micros, count}, err
}
