package jsonscan

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax is the error, wrapped, for a text that is not JSON.
var ErrSyntax = errors.New("not JSON: send valid JSON in UTF-8")

const maxDepth = 1000

// Scanner is a position in a JSON text.
type Scanner struct {
	text  []byte
	at    int
	depth int
	first bool // no element was read since Enter, so no comma precedes the next one
	err   error
	plain []byte // buffer for a string with escapes
}

// New returns a scanner at the start of text. text must not change while the scanner is in use.
func New(text []byte) *Scanner { return &Scanner{text: text} }

// Reset moves the scanner to the start of another text. It keeps the buffer.
func (s *Scanner) Reset(text []byte) { *s = Scanner{text: text, plain: s.plain[:0]} }

// Peek returns the first character of the next value: '{', '[', '"', 't', 'f', 'n', or '0' for any
// number. It returns 0 at the end of the text and after an error.
func (s *Scanner) Peek() byte {
	s.space()
	if s.err != nil || s.at == len(s.text) {
		return 0
	}
	switch c := s.text[s.at]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		s.fail("no value")
		return 0
	}
}

// Enter enters an object if open is '{', or an array if open is '['. It returns false and does not
// move if the next value is another one.
func (s *Scanner) Enter(open byte) bool {
	if s.Peek() != open {
		return false
	}
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deeply")
		return false
	}
	s.at++
	s.first = true
	return true
}

// Next moves to the next element and returns true, or leaves the object or array, whose closing
// bracket is end, and returns false.
func (s *Scanner) Next(end byte) bool {
	s.space()
	if s.err != nil {
		return false
	}
	first := s.first
	s.first = false
	switch {
	case s.at == len(s.text):
		s.fail("the text ends inside a value")
		return false
	case s.text[s.at] == end:
		s.at++
		s.depth--
		return false
	case first:
		return true
	case s.text[s.at] != ',':
		s.fail("no comma")
		return false
	}
	s.at++
	return true
}

// Key reads the key of the next element of an object. The bytes are valid until the next call of
// Key or Text.
func (s *Scanner) Key() []byte {
	key := s.Text()
	if s.space(); s.err != nil || s.at == len(s.text) || s.text[s.at] != ':' {
		s.fail("no colon")
		return nil
	}
	s.at++
	return key
}

// Text reads a string and returns it without quotes and escapes. The bytes are valid until the next
// call of Key or Text. Another value is an error.
func (s *Scanner) Text() []byte {
	if s.Peek() != '"' {
		s.fail("no string")
		return nil
	}
	s.at++
	start := s.at
	ascii := byte(0)
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c == '"' {
			return s.utf8(s.text[start:s.at], ascii)
		}
		if c == '\\' {
			return s.unescape(start)
		}
		if c < 0x20 {
			break
		}
		ascii |= c
		s.at++
	}
	s.fail("a string without an end")
	return nil
}

// utf8 ends a string. bits is the bitwise or of its bytes.
func (s *Scanner) utf8(text []byte, bits byte) []byte {
	s.at++
	if bits >= utf8.RuneSelf && !utf8.Valid(text) {
		s.fail("not UTF-8")
		return nil
	}
	return text
}

// Bool reads a boolean. Peek must have returned 't' or 'f'.
func (s *Scanner) Bool() bool {
	is := s.Peek() == 't'
	s.Skip()
	return is
}

// Number reads a number and returns its text. Another value is an error.
func (s *Scanner) Number() []byte {
	if s.Peek() != '0' {
		s.fail("no number")
		return nil
	}
	start := s.at
	n := numberEnd(s.text[s.at:])
	if n == 0 {
		s.fail("an invalid number")
		return nil
	}
	s.at += n
	return s.text[start:s.at]
}

// Skip skips the next value.
func (s *Scanner) Skip() {
	switch s.Peek() {
	case '{':
		for in := s.Enter('{'); in && s.Next('}'); {
			s.Key()
			s.Skip()
		}
	case '[':
		for in := s.Enter('['); in && s.Next(']'); {
			s.Skip()
		}
	case '"':
		s.Text()
	case '0':
		s.Number()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.fail("no value")
	}
}

// End returns the first error, or an error if the text continues after the value.
func (s *Scanner) End() error {
	if s.space(); s.err == nil && s.at < len(s.text) {
		s.fail("more than one value")
	}
	return s.err
}

// Err returns the first error.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) word(w string) {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		s.fail("an unknown word")
		return
	}
	s.at += len(w)
}

func (s *Scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *Scanner) fail(what string) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %s: %w", s.at, what, ErrSyntax)
	}
}
