// Package shorten bounds texts of other programs.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// Text returns the first bytes of a text, at most so many, as whole characters. Bytes that are not
// UTF-8 become U+FFFD.
func Text(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
