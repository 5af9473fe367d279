package cli

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped returns the output of a command as a terminal can show it: without control characters
// beside line ends and tabs, and without characters that turn the direction of a text. A program
// reads the same values: JSON and YAML have an escape for each character.
func (f Format) escaped(out []byte) []byte {
	switch f {
	case FormatJSON, FormatJSONL:
		return escape(out, jsonEscape)
	case FormatYAML:
		return escape(out, yamlEscape)
	case formatTable, FormatWide, FormatCSV:
	}
	return []byte(Printable(string(out)))
}

// notGraphic reports whether a terminal could take r for a command, or shows nothing for it.
func notGraphic(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }

// escape replaces the characters that are not graphic. In JSON, and in YAML by WriteYAML, they are
// in quotes.
func escape(text []byte, as func(rune) string) []byte {
	if !bytes.ContainsFunc(text, notGraphic) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if notGraphic(r) {
			out = append(out, as(r)...)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

func jsonEscape(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func yamlEscape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
