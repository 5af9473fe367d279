package expr

import "unicode/utf8"

// token is a piece of an expression's text.
type token struct {
	kind       byte // one of the constants below, or the character of an operator or bracket
	start, end int
}

const (
	tokEnd    = 0
	tokWord   = 'a' // a name, a keyword or a function
	tokName   = '#' // "#n"
	tokValue  = 'v' // ":v"
	tokDigits = '0'
	tokLE     = 'l' // "<="
	tokGE     = 'g' // ">="
	tokNE     = 'n' // "<>"
	tokOther  = '?' // any character that no expression has
)

// tokens splits the text. The last token is tokEnd.
func tokens(text string) []token {
	list := make([]token, 0, len(text)/3+2)
	for i := 0; i < len(text); {
		if c := text[i]; c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			i++
			continue
		}
		t := next(text, i)
		list = append(list, t)
		i = t.end
	}
	return append(list, token{tokEnd, len(text), len(text)})
}

// next returns the token that begins at i.
func next(text string, i int) token {
	c := text[i]
	switch {
	case letter(c):
		return token{tokWord, i, wordEnd(text, i)}
	case digit(c):
		end := i
		for end < len(text) && digit(text[end]) {
			end++
		}
		return token{tokDigits, i, end}
	case c == '#' || c == ':':
		end := wordEnd(text, i+1)
		if end == i+1 {
			return token{tokOther, i, end}
		}
		if c == '#' {
			return token{tokName, i, end}
		}
		return token{tokValue, i, end}
	case i+1 < len(text) && text[i:i+2] == "<=":
		return token{tokLE, i, i + 2}
	case i+1 < len(text) && text[i:i+2] == ">=":
		return token{tokGE, i, i + 2}
	case i+1 < len(text) && text[i:i+2] == "<>":
		return token{tokNE, i, i + 2}
	}
	switch c {
	case '(', ')', '[', ']', '.', ',', '+', '-', '=', '<', '>':
		return token{c, i, i + 1}
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return token{tokOther, i, i + size}
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// wordEnd returns the index after the letters, digits and underscores that begin at i.
func wordEnd(text string, i int) int {
	for i < len(text) && (letter(text[i]) || digit(text[i]) || text[i] == '_') {
		i++
	}
	return i
}
