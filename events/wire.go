package events

import (
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// validNumber says whether the tag's field number is from 1 to 2^29-1.
func validNumber(tag uint64) bool { return tag-8 < (uint64(protowire.MaxValidNumber)+1)*8-8 }

// highBits are the top bits of eight bytes: in a varint they say that more follows, in text that it is not ASCII.
const highBits = 0x8080808080808080

// packSevenBits takes the seven low bits of each of eight bytes, the first byte lowest.
func packSevenBits(w uint64) uint64 {
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x000000000fffffff | w&0x0fffffff00000000>>4
}

// uvarint reads a varint at b[i:] and returns it with the index after it, or a negative index that names what is wrong.
func uvarint(b []byte, i int) (uint64, int) {
	x, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return 0, wireError(n)
	}
	return x, i + n
}

// skip passes over the value of a field that the view does not hold and returns the index after it, or a negative one.
func skip(b []byte, i int, tag uint64) int {
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), b[i:])
	if n < 0 {
		return wireError(n)
	}
	return i + n
}

// wireError turns a negative length of protowire's into ours.
func wireError(n int) int {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return cut
	}
	return malformed
}

// isASCII looks at the whole of s in as few loads as its length allows, overlapping at the end: ids are short, so the
// call of utf8.Valid and its byte by byte tail would cost a third of the decoder.
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
