package events

import (
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// validNumber reports whether the tag's field number is from 1 to 2^29-1.
func validNumber(tag uint64) bool { return tag-8 < (uint64(protowire.MaxValidNumber)+1)*8-8 }

// highBits is the top bit of each of eight bytes. In a varint a set top bit means that more bytes
// follow; in text it means that the text is not ASCII.
const highBits = 0x8080808080808080

// packSevenBits joins the low seven bits of each of eight bytes into 56 bits. The first byte is the
// lowest.
func packSevenBits(w uint64) uint64 {
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x000000000fffffff | w&0x0fffffff00000000>>4
}

// uvarint reads a varint at b[i:]. It returns the number and the index after it, or the negative
// index of an error.
func uvarint(b []byte, i int) (uint64, int) {
	x, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return 0, wireError(n)
	}
	return x, i + n
}

// skip returns the index after the value of a field that View does not hold, or the negative index
// of an error.
func skip(b []byte, i int, tag uint64) int {
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), b[i:])
	if n < 0 {
		return wireError(n)
	}
	return i + n
}

// wireError converts a negative length that protowire returns to the negative index of an error.
func wireError(n int) int {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return cut
	}
	return malformed
}

// isASCII reads s in as few 4- or 8-byte loads as its length allows; the last load may overlap the
// one before. Ids are short: a call of utf8.Valid, which reads the tail byte by byte, would cost a
// third of the decoder's time.
func isASCII(s []byte) bool {
	n := len(s)
	if n >= 8 {
		or := binary.LittleEndian.Uint64(s[n-8:])
		for len(s) > 8 {
			or |= binary.LittleEndian.Uint64(s)
			s = s[8:]
		}
		return or&highBits == 0
	}
	if n >= 4 {
		return (binary.LittleEndian.Uint32(s)|binary.LittleEndian.Uint32(s[n-4:]))&0x80808080 == 0
	}
	if n > 0 {
		return (s[0] | s[n/2] | s[n-1]) < 0x80
	}
	return true
}
