package events

// DecodeError says why bytes are no AdEvent. The values are constants: a flood of bad records allocates nothing.
type DecodeError uint8

// What Decode refuses.
const (
	ErrTruncated DecodeError = iota + 1 // a field runs past the end of the record
	ErrMalformed                        // not the protobuf wire format
	ErrUTF8                             // a string field is not UTF-8
)

// Negative indices by which the decoder's inner functions report errors.
const (
	cut       = -int(ErrTruncated)
	malformed = -int(ErrMalformed)
	notUTF8   = -int(ErrUTF8)
)

// Error implements error.
func (e DecodeError) Error() string {
	switch e {
	case ErrTruncated:
		return "AdEvent: a field runs past the end of the record: was it cut on its way?"
	case ErrMalformed:
		return "AdEvent: not the protobuf wire format: does the producer write weir.events.v1.AdEvent?"
	case ErrUTF8:
		return "AdEvent: a string field is not UTF-8: encode ids as UTF-8 or as hexadecimal"
	}
	return "AdEvent: undecodable"
}

// fail empties v, so that no half-read event can be used, and returns the error with code i.
func (v *View) fail(i int) error {
	*v = View{}
	return DecodeError(-i)
}
