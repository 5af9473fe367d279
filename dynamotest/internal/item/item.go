package item

import (
	"iter"
	"slices"
	"strings"
)

// Item is a set of attributes with different names: an item of a table, the attributes of a map, or
// the values of an expression by their names (":v"). It is immutable, == is equality, and the zero
// Item has no attributes. It is one string, so that the garbage collector sees one pointer for each
// item.
type Item struct {
	enc string // the payload of an M
}

// Attr is one attribute of an item.
type Attr struct {
	Name  string
	Value Value
}

// Of returns the item with the attributes. It sorts attrs in place by name. Of several attributes
// with one name it takes the last, and it leaves out an attribute whose value is Missing.
func Of(attrs ...Attr) Item {
	slices.SortStableFunc(attrs, func(a, b Attr) int { return strings.Compare(a.Name, b.Name) })
	n := 0
	for i := range attrs {
		if counts(attrs, i) {
			n += attrs[i].encodedSize()
		}
	}
	if n == 0 {
		return Item{}
	}
	var b strings.Builder
	b.Grow(n)
	var length [10]byte
	for i := range attrs {
		if counts(attrs, i) {
			b.Write(appendUvarint(length[:0], len(attrs[i].Name)))
			b.WriteString(attrs[i].Name)
			b.WriteString(attrs[i].Value.enc)
		}
	}
	return Item{b.String()}
}

// counts reports whether attribute i of a sorted list is in the item.
func counts(attrs []Attr, i int) bool {
	return attrs[i].Value.Exists() && (i+1 == len(attrs) || attrs[i+1].Name != attrs[i].Name)
}

func (a Attr) encodedSize() int { return uvarintSize(len(a.Name)) + len(a.Name) + len(a.Value.enc) }

// next splits the first attribute off s.
func next(s string) (a Attr, rest string) {
	n, size := uvarint(s)
	name, s := s[size:size+n], s[size+n:]
	end := valueEnd(s)
	return Attr{name, Value{s[:end]}}, s[end:]
}

// Get returns the value of the attribute, or Missing.
func (it Item) Get(name string) Value {
	for rest := it.enc; rest != ""; {
		var a Attr
		if a, rest = next(rest); a.Name == name {
			return a.Value
		}
	}
	return Value{}
}

// All returns the attributes, ascending by name.
func (it Item) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for rest := it.enc; rest != ""; {
			var a Attr
			if a, rest = next(rest); !yield(a.Name, a.Value) {
				return
			}
		}
	}
}

// Attrs appends the attributes to dst, ascending by name.
func (it Item) Attrs(dst []Attr) []Attr {
	for rest := it.enc; rest != ""; {
		var a Attr
		a, rest = next(rest)
		dst = append(dst, a)
	}
	return dst
}

// Len returns the number of attributes.
func (it Item) Len() int {
	n := 0
	for rest := it.enc; rest != ""; n++ {
		_, rest = next(rest)
	}
	return n
}

// With returns the item with the attribute set to v, or without it if v is Missing.
func (it Item) With(name string, v Value) Item {
	var scratch [24]Attr
	return Of(append(it.Attrs(scratch[:0]), Attr{name, v})...)
}

// Only returns the item with the named attributes alone.
func (it Item) Only(names ...string) Item {
	var scratch [24]Attr
	kept := scratch[:0]
	for rest := it.enc; rest != ""; {
		var a Attr
		if a, rest = next(rest); slices.Contains(names, a.Name) {
			kept = append(kept, a)
		}
	}
	return Of(kept...)
}

// Clone returns a copy of the item in its own memory.
func (it Item) Clone() Item { return Item{strings.Clone(it.enc)} }

// String returns the item's JSON.
func (it Item) String() string { return string(it.AppendJSON(nil)) }
