package item

// A value is encoded as one byte, its Kind, and
//
//	NULL          nothing
//	BOOL          one byte, 0 or 1
//	the others    the length of the rest (uvarint), then
//	  S B           the bytes
//	  N             the number in its sortable form (number.go)
//	  L SS NS BS    the elements one after the other; those of a set ascending, each once
//	  M             the attributes, ascending by name, each once:
//	                length of the name (uvarint), name, value
//
// Each value has one encoding, so equality of values is equality of strings.

// appendUvarint appends n in groups of seven bits, the lowest first.
func appendUvarint(dst []byte, n int) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// uvarint reads the number at the start of s. It returns the number and its size in bytes.
func uvarint(s string) (n, size int) {
	if s[0] < 0x80 {
		return int(s[0]), 1
	}
	for shift := 0; ; shift += 7 {
		b := s[size]
		size++
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n, size
		}
	}
}

// uvarintSize returns the size of n in bytes.
func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// valueEnd returns the index after the value at the start of s.
func valueEnd(s string) int {
	switch Kind(s[0]) {
	case NULL:
		return 1
	case BOOL:
		return 2
	default:
		n, size := uvarint(s[1:])
		return 1 + size + n
	}
}

// payload returns the bytes after the length.
func (v Value) payload() string {
	_, size := uvarint(v.enc[1:])
	return v.enc[1+size:]
}

// appendBytes returns the encoding of a value of kind k with the payload s.
func appendBytes(k Kind, s string) string {
	dst := make([]byte, 0, 1+uvarintSize(len(s))+len(s))
	dst = appendUvarint(append(dst, byte(k)), len(s))
	return string(append(dst, s...))
}

// appendAll returns the encoding of a value of kind k with the elements in their order.
func appendAll(k Kind, elements []Value) string {
	n := 0
	for _, e := range elements {
		n += len(e.enc)
	}
	dst := make([]byte, 0, 1+uvarintSize(n)+n)
	dst = appendUvarint(append(dst, byte(k)), n)
	for _, e := range elements {
		dst = append(dst, e.enc...)
	}
	return string(dst)
}
