package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a message for a terminal. Characters that are not printable are escaped, beside
// line ends and tabs: file names, headers and ids come from outside, and must not control the
// terminal or turn the direction of a text.
func Printable(s string) string {
	bad := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || bad(r) {
			quoted := strconv.QuoteToGraphic(s[:n])
			if quoted == `"`+s[:n]+`"` { // a graphic space
				quoted = strconv.QuoteToASCII(s[:n])
			}
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
