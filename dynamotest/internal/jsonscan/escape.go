package jsonscan

import (
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the rest of a string that began at start and whose first backslash is at the
// position.
func (s *Scanner) unescape(start int) []byte {
	out := append(s.plain[:0], s.text[start:s.at]...)
	bits := byte(utf8.RuneSelf) // the bytes before the backslash may have any bits
	for s.at < len(s.text) && s.err == nil {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.plain = out
			return s.utf8(out, bits)
		case c == '\\':
			s.at++
			out = s.escape(out)
		case c < 0x20:
			s.fail("a control character in a string")
		default:
			out = append(out, c)
			s.at++
		}
	}
	s.fail("a string without an end")
	return nil
}

// escape appends the character of the escape after a backslash.
func (s *Scanner) escape(out []byte) []byte {
	if s.at == len(s.text) {
		return out
	}
	c := s.text[s.at]
	s.at++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		r := s.hex4()
		if utf16.IsSurrogate(r) && s.at+1 < len(s.text) && s.text[s.at] == '\\' && s.text[s.at+1] == 'u' {
			back := s.at
			s.at += 2
			if pair := utf16.DecodeRune(r, s.hex4()); pair != utf8.RuneError {
				return utf8.AppendRune(out, pair)
			}
			s.at = back
		}
		return utf8.AppendRune(out, r) // half a surrogate pair becomes U+FFFD
	default:
		s.fail("an unknown escape")
		return out
	}
}

func (s *Scanner) hex4() (r rune) {
	for range 4 {
		if s.at == len(s.text) {
			s.fail("half an escape")
			return 0
		}
		c := s.text[s.at]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			s.fail("an escape that is not hexadecimal")
			return 0
		}
		r = r<<4 | rune(c)
		s.at++
	}
	return r
}

// numberEnd returns the length of the number at the start of text, or 0 if text does not begin with
// a number.
func numberEnd(text []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(text) && '0' <= text[i] && text[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}
