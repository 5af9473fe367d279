package partiql

import "strings"

// space skips space and comments.
func (p *parser) space() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			p.at++
		case strings.HasPrefix(rest, "--"):
			p.skip(2, "\n")
		case strings.HasPrefix(rest, "/*"):
			if !strings.Contains(rest[2:], "*/") {
				p.refuse("a comment has no end")
				return
			}
			p.skip(2, "*/")
		default:
			return
		}
	}
}

// skip skips n bytes and the text up to the end of mark, or to the end of the text.
func (p *parser) skip(n int, mark string) {
	if i := strings.Index(p.text[p.at+n:], mark); i >= 0 {
		p.at += n + i + len(mark)
		return
	}
	p.at = len(p.text)
}

// comes reports whether mark is next.
func (p *parser) comes(mark string) bool {
	p.space()
	return strings.HasPrefix(p.text[p.at:], mark)
}

// accept reads mark if it is next.
func (p *parser) accept(mark string) bool {
	if !p.comes(mark) {
		return false
	}
	p.at += len(mark)
	return true
}

func (p *parser) expect(mark string) {
	if !p.accept(mark) {
		p.unexpected(mark)
	}
}

// more moves to element i and returns true, or reads end and returns false.
func (p *parser) more(end string, i int) bool {
	if p.accept(end) || p.err != nil {
		return false
	}
	if i > 0 {
		p.expect(",")
	}
	return p.err == nil
}

// peekWord returns the next letters, digits, underscores and dollar signs. It returns "" if there
// are none, or if the first is a digit.
func (p *parser) peekWord() string {
	p.space()
	end := p.at
	for end < len(p.text) && (letter(p.text[end]) || digit(p.text[end]) && end > p.at) {
		end++
	}
	return p.text[p.at:end]
}

func (p *parser) word() string {
	w := p.peekWord()
	p.at += len(w)
	return w
}

func (p *parser) keyword(want string) {
	if !strings.EqualFold(p.peekWord(), want) {
		p.unexpected(want)
	}
	p.word()
}

// quoted reads a text between quotes, in which two quotes stand for one.
func (p *parser) quoted(quote byte, what string) string {
	if !p.accept(string(quote)) {
		p.unexpected(what)
		return ""
	}
	start, twice := p.at, false
	for ; p.at < len(p.text); p.at++ {
		if p.text[p.at] != quote {
			continue
		}
		if p.at++; p.at < len(p.text) && p.text[p.at] == quote {
			twice = true
			continue
		}
		text := p.text[start : p.at-1]
		if twice {
			q := string(quote)
			text = strings.ReplaceAll(text, q+q, q)
		}
		return text
	}
	p.refuse(what + " has no end")
	return ""
}

// number reads a number. It returns "" if the next token is not a number.
func (p *parser) number() string {
	p.space()
	start := p.at
	end := p.sign(start)
	digits := p.digits(end)
	if digits == end {
		return ""
	}
	end = digits
	if end < len(p.text) && p.text[end] == '.' {
		end = p.digits(end + 1)
	}
	if end < len(p.text) && p.text[end]|0x20 == 'e' {
		if exp := p.sign(end + 1); p.digits(exp) > exp {
			end = p.digits(exp)
		}
	}
	p.at = end
	if p.peekWord() != "" && p.at == end {
		p.at = start
		p.unexpected("a number")
	}
	return p.text[start:end]
}

func (p *parser) sign(i int) int {
	if i < len(p.text) && (p.text[i] == '-' || p.text[i] == '+') {
		i++
	}
	return i
}

func (p *parser) digits(i int) int {
	for i < len(p.text) && digit(p.text[i]) {
		i++
	}
	return i
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }

func digit(c byte) bool { return '0' <= c && c <= '9' }
