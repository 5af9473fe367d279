package packed

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt means that bytes are not a row.
var ErrCorrupt = errors.New("the row is corrupt: rebuild the store from its changelog")

// AppendInt appends a number as a varint. It may be negative.
func AppendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

// AppendString appends the length of a string, then the string.
func AppendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Reader reads a row from its start. After the first error it returns zero values.
type Reader struct {
	left []byte
	err  error
}

// NewReader makes a Reader of b. It does not change b.
func NewReader(b []byte) Reader { return Reader{left: b} }

// Int reads what AppendInt wrote.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.left)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.left = r.left[size:]
	return n
}

// String reads what AppendString wrote.
func (r *Reader) String() string {
	n, size := binary.Uvarint(r.left)
	if size <= 0 || n > uint64(len(r.left)-size) {
		r.fail()
		return ""
	}
	s := string(r.left[size : size+int(n)])
	r.left = r.left[size+int(n):]
	return s
}

// Len returns the number of bytes left.
func (r *Reader) Len() int { return len(r.left) }

// End returns the first error of the reads. Bytes that are left are an error, too.
func (r *Reader) End() error {
	if len(r.left) > 0 {
		r.fail()
	}
	return r.err
}

func (r *Reader) fail() { r.err, r.left = ErrCorrupt, nil }
