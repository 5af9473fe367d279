package expr

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// DynamoDB's limits.
const (
	maxText      = 4096 // bytes of an expression
	maxOperators = 300  // operators and functions of an expression
	maxIn        = 100  // operands of IN
	maxSteps     = 32   // elements of a path
	maxIndex     = 1<<31 - 1
)

// class is a class of errors that depend neither on names nor on values, in an expression without
// syntax errors. Of several errors DynamoDB reports the one of the first class, and of that class
// the first in the text.
type class int

const (
	redundantParens class = iota
	tooManyOperators
	unknownFunction
	misusedFunction
	reservedWord
	repeatedSection
	pathTooLong
	indexTooLarge
	classes
)

// parser reads one expression. After the first syntax error it stands at the end, so that every
// loop ends.
type parser struct {
	kind      string   // "UpdateExpression" and so on
	keywords  []string // words that are not names
	text      string
	tokens    []token
	at        int
	operators int
	refs      Refs
	syntax    error
	found     [classes]string

	bracketedPaths bool // (a.b).c is a path
	leaves         []leaf
	order          []ref  // placeholders since the last leaf
	calls          []call // functions since the last leaf
	wrongCount     string // since the last leaf
}

// ref is the slot of a placeholder in Refs.
type ref struct {
	value bool
	slot  int
}

func newParser(kind, text string, keywords ...string) *parser {
	return &parser{kind: kind, text: text, tokens: tokens(text), keywords: keywords}
}

// checkText returns an error for a text that is empty or too long.
func checkText(kind, text string) error {
	if text == "" {
		return invalid(kind, "The expression can not be empty;")
	}
	if len(text) > maxText {
		return invalid(kind, "Expression size has exceeded the maximum allowed size; expression size: "+strconv.Itoa(len(text)))
	}
	return nil
}

func invalid(kind, message string) error { return item.Invalid("Invalid " + kind + ": " + message) }

// finish returns the error that DynamoDB reports.
func (p *parser) finish() error {
	if p.peek() != tokEnd {
		p.unexpected()
	}
	if p.syntax != nil {
		return p.syntax
	}
	if p.operators > maxOperators {
		p.note(tooManyOperators, "The expression contains too many operators; operator count: "+strconv.Itoa(maxOperators+1))
	}
	for _, message := range p.found {
		if message != "" {
			return invalid(p.kind, message)
		}
	}
	return nil
}

func (p *parser) note(c class, message string) {
	if p.found[c] == "" {
		p.found[c] = message
	}
}

// unexpected notes a syntax error at the next token.
func (p *parser) unexpected() {
	if p.syntax == nil {
		t := p.tokens[p.at]
		name, from, to := p.text[t.start:t.end], t.start, t.end
		if t.kind == tokEnd {
			name = "<EOF>"
		} else if after := p.tokens[p.at+1]; after.kind != tokEnd {
			to = after.end
		}
		if p.at > 0 {
			from = p.tokens[p.at-1].start
			if t.kind == tokEnd {
				to = p.tokens[p.at-1].end
			}
		}
		p.syntax = invalid(p.kind, `Syntax error; token: "`+name+`", near: "`+p.text[from:to]+`"`)
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) peek() byte { return p.tokens[p.at].kind }

// take reads the next token and returns its text.
func (p *parser) take() string {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return p.text[t.start:t.end]
}

// accept reads the next token if it has that kind.
func (p *parser) accept(kind byte) bool {
	if p.peek() != kind {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(kind byte) {
	if !p.accept(kind) {
		p.unexpected()
	}
}

// keyword reports whether the next token is one of the words, in any case.
func (p *parser) keyword(words ...string) bool {
	if p.peek() != tokWord {
		return false
	}
	t := p.tokens[p.at]
	for _, w := range words {
		if strings.EqualFold(p.text[t.start:t.end], w) {
			return true
		}
	}
	return false
}

// acceptKeyword reads the next token if it is that word, in any case.
func (p *parser) acceptKeyword(word string) bool {
	if !p.keyword(word) {
		return false
	}
	p.at++
	return true
}

// slot returns the index of text in the list. It appends a text that is new.
func slot(list *[]string, text string) int {
	for i, have := range *list {
		if have == text {
			return i
		}
	}
	*list = append(*list, text)
	return len(*list) - 1
}

// value reads ":v" and returns its slot.
func (p *parser) value() int {
	if p.peek() != tokValue {
		p.unexpected()
		return 0
	}
	n := slot(&p.refs.Values, p.take())
	p.order = append(p.order, ref{true, n})
	return n
}
