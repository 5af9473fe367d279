package jsonscan

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax is what End returns, wrapped, for text that is not JSON.
var ErrSyntax = errors.New("not JSON: send valid JSON in UTF-8")

const maxDepth = 1000

// Scanner is a position in a text.
type Scanner struct {
	text  []byte
	at    int
	depth int
	first bool // just entered: no comma before the next element
	err   error
	plain []byte // the text of a string with escapes
}

// New returns a scanner at the beginning of text, which must not change while it is in use.
func New(text []byte) *Scanner { return &Scanner{text: text} }

// Reset puts the scanner at the beginning of another text, keeping its memory.
func (s *Scanner) Reset(text []byte) { *s = Scanner{text: text, plain: s.plain[:0]} }

// Peek tells what comes: '{', '[', '"', 't', 'f', 'n', '0' for any number, or 0 if nothing does or after an error.
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

// Enter goes into an object, by '{', or an array, by '['. It returns false and stays if something else comes.
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

// Next goes to the next element and returns true, or out of the object, by '}', or the array, by ']', and returns false.
func (s *Scanner) Next(end byte) bool {
	s.space()
	if s.err != nil {
		return false
	}
	first := s.first
	s.first = false
	switch {
	case s.at == len(s.text):
		s.fail("it ends too early")
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

// Key returns the key of the object's element, and goes to its value. It is good until the next Key or Text.
func (s *Scanner) Key() []byte {
	key := s.Text()
	if s.space(); s.err != nil || s.at == len(s.text) || s.text[s.at] != ':' {
		s.fail("no colon")
		return nil
	}
	s.at++
	return key
}

// Text returns the string that comes, without quotes and escapes. It is good until the next Key or Text. If no string
// comes, that is an error.
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

// utf8 ends a string. bits are those that any of its bytes has.
func (s *Scanner) utf8(text []byte, bits byte) []byte {
	s.at++
	if bits >= utf8.RuneSelf && !utf8.Valid(text) {
		s.fail("not UTF-8")
		return nil
	}
	return text
}

// Bool returns the boolean that comes, which Peek has seen as 't' or 'f'.
func (s *Scanner) Bool() bool {
	is := s.Peek() == 't'
	s.Skip()
	return is
}

// Number returns the text of the number that comes. If none does, that is an error.
func (s *Scanner) Number() []byte {
	if s.Peek() != '0' {
		s.fail("no number")
		return nil
	}
	start := s.at
	n := numberEnd(s.text[s.at:])
	if n == 0 {
		s.fail("a number that is none")
		return nil
	}
	s.at += n
	return s.text[start:s.at]
}

// Skip goes over the value that comes, whatever it is.
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

// End returns the first error, or one if anything but space follows.
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
