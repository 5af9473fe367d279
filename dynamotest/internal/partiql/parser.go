package partiql

import (
	"errors"
	"slices"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// parser reads one statement. After the first error it stands at the end, so that every loop ends.
type parser struct {
	text   string
	at     int
	params int
	err    error
}

// Parse parses a statement, which must be UTF-8. Its errors are item.Error and Unsupported.
func Parse(text string) (*Insert, error) {
	p := &parser{text: text}
	switch verb := strings.ToUpper(p.peekWord()); verb {
	case "SELECT", "UPDATE", "DELETE", "EXISTS":
		return nil, &Unsupported{"the PartiQL statement " + verb}
	}
	p.keyword("INSERT")
	p.keyword("INTO")
	in := &Insert{table: p.table()}
	p.keyword("VALUE")
	in.tuple = p.tuple(0)
	in.params = p.params
	if strings.EqualFold(p.peekWord(), "ON") {
		p.fail(&Unsupported{"ON CONFLICT of the PartiQL statement INSERT"})
	}
	p.accept(";")
	if p.space(); p.err == nil && p.at < len(p.text) {
		p.unexpected("the end")
	}
	if p.err != nil {
		return nil, p.err
	}
	return in, nil
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.at = len(p.text)
}

func (p *parser) refuse(message string) {
	p.fail(item.Invalid("Statement wasn't well formed, can't be processed: " + message))
}

// unexpected fails with an error about the text at the position, where want is required.
func (p *parser) unexpected(want string) {
	p.space()
	rest := p.text[p.at:]
	if len(rest) > 20 {
		rest = strings.ToValidUTF8(rest[:20], "") + "..."
	}
	if rest == "" {
		rest = "the end"
	}
	p.refuse("expected " + want + ", got " + rest)
}

// table reads the table's name.
func (p *parser) table() string {
	if p.comes(`"`) {
		return p.quoted('"', "a table's name")
	}
	if p.peekWord() == "" {
		p.unexpected("a table's name")
	}
	return p.word()
}

// tuple reads the attributes of an item or of a map that is inside depth lists and maps.
func (p *parser) tuple(depth int) []field {
	p.expect("{")
	var fields []field
	for p.more("}", len(fields)) {
		name := p.quoted('\'', "an attribute's name in single quotes")
		p.expect(":")
		fields = append(fields, field{name, p.value(depth)})
	}
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(fields); i++ {
		if fields[i].name == fields[i-1].name {
			p.refuse("the attribute " + fields[i].name + " is there twice")
		}
	}
	return fields
}

// value reads a value that is inside depth lists and maps.
func (p *parser) value(depth int) node {
	if depth >= item.MaxDepth {
		p.fail(item.TooDeep())
		return node{}
	}
	switch {
	case p.accept("?"):
		p.params++
		return node{param: p.params}
	case p.comes("{"):
		return p.mapped(depth)
	case p.accept("["):
		return p.list(depth)
	case p.accept("<<"):
		return node{literal: p.set()}
	default:
		return node{literal: p.scalar()}
	}
}

func (p *parser) mapped(depth int) node {
	before := p.params
	n := node{isMap: true, fields: p.tuple(depth + 1)}
	if p.params > before || p.err != nil {
		return n
	}
	return p.literal(n)
}

func (p *parser) list(depth int) node {
	before := p.params
	n := node{}
	for p.more("]", len(n.list)) {
		n.list = append(n.list, p.value(depth+1))
	}
	if p.params > before || p.err != nil {
		return n
	}
	return p.literal(n)
}

// literal returns a value without parameters as a literal.
func (p *parser) literal(n node) node {
	v, err := n.fill(nil, 0)
	if err != nil {
		p.fail(err)
	}
	return node{literal: v}
}

// set reads the elements and the end of a set.
func (p *parser) set() item.Value {
	var elements []item.Value
	for p.more(">>", len(elements)) {
		elements = append(elements, p.scalar())
	}
	if p.err != nil {
		return item.Value{}
	}
	if len(elements) == 0 {
		p.fail(item.Invalid("Empty bags are not supported"))
		return item.Value{}
	}
	v, ok := item.Set(elements...)
	switch {
	case !ok:
		p.refuse("a set has strings alone or numbers alone")
	case v.Len() < len(elements):
		p.fail(item.Invalid("Input collection contains duplicates"))
	}
	return v
}

// scalar reads a literal that is not a map, a list or a set.
func (p *parser) scalar() item.Value {
	if p.comes("'") {
		return item.Str(p.quoted('\'', "a string"))
	}
	if text := p.number(); text != "" {
		v, err := item.Num(text)
		var invalid *item.Error
		if errors.As(err, &invalid) {
			p.fail(invalid)
		}
		return v
	}
	var v item.Value
	switch strings.ToUpper(p.peekWord()) {
	case "TRUE":
		v = item.Bool(true)
	case "FALSE":
		v = item.Bool(false)
	case "NULL":
		v = item.Null()
	default:
		p.unexpected("a value")
	}
	p.word()
	return v
}
