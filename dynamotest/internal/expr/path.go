package expr

import "strconv"

// path is the path to a value in an item, such as a.#b[3].
type path []step

// step is an attribute's name, literal or by placeholder, or the index of an element of a list.
type step struct {
	name  string
	ref   int // slot of the placeholder, -1 for a literal name or an index
	index int // -1 for a name
}

// path reads a path.
func (p *parser) path() path { return p.steps(path{p.name()}) }

// steps reads the rest of a path.
func (p *parser) steps(path path) path {
	for {
		switch {
		case p.accept('.'):
			path = append(path, p.name())
		case p.accept('['):
			path = append(path, p.index())
		default:
			if len(path) > maxSteps {
				p.note(pathTooLong, "The document path has too many nesting elements; nesting elements: "+strconv.Itoa(len(path)))
			}
			return path
		}
	}
}

func (p *parser) name() step {
	switch {
	case p.peek() == tokName:
		n := slot(&p.refs.Names, p.take())
		p.order = append(p.order, ref{false, n})
		return step{ref: n, index: -1}
	case p.peek() == tokWord && !p.keyword(p.keywords...):
		word := p.take()
		if reserved(word) {
			p.note(reservedWord, "Attribute name is a reserved keyword; reserved keyword: "+word)
		}
		return step{name: word, ref: -1, index: -1}
	default:
		p.unexpected()
		return step{ref: -1, index: -1}
	}
}

func (p *parser) index() step {
	if p.peek() != tokDigits {
		p.unexpected()
		return step{ref: -1}
	}
	digits := p.take()
	p.expect(']')
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxIndex {
		p.note(indexTooLarge, "List index is not within the allowable range; index: ["+digits+"]")
		n = maxIndex
	}
	return step{ref: -1, index: n}
}
