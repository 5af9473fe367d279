package item

// AppendKey appends the sortable form of a value of kind S, N or B. Within one kind, the forms sort
// as bytes as the values sort, and no form is a prefix of another. So a key of several parts is the
// concatenation of the parts' forms. The form is
//
//	the payload with 00 replaced by 00 ff, then 00 01
func AppendKey(dst []byte, v Value) []byte {
	return append(AppendKeyPrefix(dst, v), 0, 1)
}

// AppendKeyPrefix appends the common prefix of the forms of all S or B values that begin with v,
// and of no others.
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
