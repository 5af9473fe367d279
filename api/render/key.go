package render

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// KeyText formats a key so that ParseKey parses it back: printable ASCII unchanged, a backslash
// twice, any other byte as \xNN.
func KeyText(key []byte) string {
	var b strings.Builder
	for _, c := range key {
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// ParseKey parses the format of KeyText. Bytes above ASCII stand for themselves.
func ParseKey(text string) ([]byte, error) {
	var out []byte
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] != '\\':
			out = append(out, rest[0])
		case strings.HasPrefix(rest, `\\`):
			out = append(out, '\\')
			i++
		case strings.HasPrefix(rest, `\x`) && len(rest) >= 4:
			b, err := hex.DecodeString(rest[2:4])
			if err != nil {
				return nil, fmt.Errorf("key %q: %q is not a byte: write \\xNN with two hexadecimal digits, or \\\\ for a backslash", text,
					rest[:4])
			}
			out = append(out, b[0])
			i += 3
		default:
			return nil, fmt.Errorf("key %q: write \\xNN for a byte, and \\\\ for a backslash", text)
		}
	}
	return out, nil
}
