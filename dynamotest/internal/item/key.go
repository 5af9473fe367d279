package item

// AppendKey appends the value, of kind S, N or B, so that the order of the results as bytes is the order of the values,
// within one kind, and none is the beginning of another: keys of several parts are made by appending part after part.
//
//	the payload with 00 replaced by 00 ff, then 00 01
func AppendKey(dst []byte, v Value) []byte {
	return append(AppendKeyPrefix(dst, v), 0, 1)
}

// AppendKeyPrefix appends what the keys of exactly those S and B values begin with that begin with v.
func AppendKeyPrefix(dst []byte, v Value) []byte {
	s := v.payload()
	start := 0
	for i := range len(s) {
		if s[i] == 0 {
			dst = append(append(dst, s[start:i+1]...), 0xff)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}
