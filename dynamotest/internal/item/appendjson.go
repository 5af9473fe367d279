package item

import "encoding/base64"

// AppendJSON appends the item in DynamoDB's JSON: {"name":{"S":"x"},...}.
func (it Item) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for rest := it.enc; rest != ""; {
		var a Attr
		a, rest = next(rest)
		dst = AppendText(dst, a.Name)
		dst = append(dst, ':')
		dst = a.Value.AppendJSON(dst)
		if rest != "" {
			dst = append(dst, ',')
		}
	}
	return append(dst, '}')
}

// AppendJSON appends the value in DynamoDB's JSON: {"N":"12"}. Missing is null.
func (v Value) AppendJSON(dst []byte) []byte {
	kind := v.Kind()
	if kind == Missing {
		return append(dst, "null"...)
	}
	dst = append(dst, '{', '"')
	dst = append(dst, kind.String()...)
	dst = append(dst, '"', ':')
	switch kind {
	case S, N, B:
		dst = v.appendScalar(dst)
	case BOOL:
		if v.True() {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case NULL:
		dst = append(dst, "true"...)
	case M:
		dst = v.Item().AppendJSON(dst)
	default:
		dst = append(dst, '[')
		for rest := v.payload(); rest != ""; {
			end := valueEnd(rest)
			if e := (Value{rest[:end]}); kind == L {
				dst = e.AppendJSON(dst)
			} else {
				dst = e.appendScalar(dst)
			}
			if rest = rest[end:]; rest != "" {
				dst = append(dst, ',')
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendScalar appends an S, N or B without its type.
func (v Value) appendScalar(dst []byte) []byte {
	switch v.Kind() {
	case S:
		return AppendText(dst, v.payload())
	case N:
		dst = appendNumber(append(dst, '"'), v.payload())
	default:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.payload()))
	}
	return append(dst, '"')
}

// AppendText appends s as a JSON string.
func AppendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
