package events

// DecodeError is the reason why bytes are not an AdEvent. The errors are constants, so that a flood
// of bad records allocates nothing.
type DecodeError uint8

// The errors of Decode.
const (
	ErrTruncated DecodeError = iota + 1 // a field runs past the end of the record
	ErrMalformed                        // the bytes are not the protobuf wire format
	ErrUTF8                             // a string field is not UTF-8
)

// Negative indices by which the decoder's functions return errors: an index is the negated
// DecodeError.
const (
	cut       = -int(ErrTruncated)
	malformed = -int(ErrMalformed)
	notUTF8   = -int(ErrUTF8)
)

// Error implements error.
func (e DecodeError) Error() string {
	switch e {
	case ErrTruncated:
		return "AdEvent: a field runs past the end of the record: the record is truncated: check its producer"
	case ErrMalformed:
		return "AdEvent: not the protobuf wire format: the producer must write weir.events.v1.AdEvent"
	case ErrUTF8:
		return "AdEvent: a string field is not UTF-8: encode ids as UTF-8 or in hexadecimal"
	}
	return "AdEvent: undecodable"
}

// fail clears v, so that no partly decoded event can be used, and returns the error of the index i.
func (v *View) fail(i int) error {
	*v = View{}
	return DecodeError(-i)
}
