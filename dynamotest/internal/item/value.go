package item

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf16"
)

// Value is one attribute value. It is immutable, and == is DynamoDB's equality: sets are equal
// whatever the order, and numbers if they are equal as numbers. So a Value can be the key of a Go
// map. The zero Value is Missing.
//
// A Value that was taken out of another shares its memory. Clone one that lives longer than the
// other.
type Value struct {
	enc string // the encoding that encoding.go describes
}

// String returns the value's JSON. Text returns the text of a string.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// Str returns the string s, which must be UTF-8.
func Str(s string) Value { return Value{appendBytes(S, s)} }

// Bin returns a binary with the bytes of b.
func Bin(b string) Value { return Value{appendBytes(B, b)} }

// Bool returns the boolean b.
func Bool(b bool) Value {
	if b {
		return Value{string([]byte{byte(BOOL), 1})}
	}
	return Value{string([]byte{byte(BOOL), 0})}
}

// Null returns the null.
func Null() Value { return Value{string([]byte{byte(NULL)})} }

// List returns the list of the values. None of them may be Missing.
func List(values ...Value) Value { return Value{appendAll(L, values)} }

// Set returns the set of the elements, which must all be S, all N or all B. Otherwise, or without
// elements, ok is false. Equal elements become one.
func Set(elements ...Value) (set Value, ok bool) {
	if len(elements) == 0 {
		return Value{}, false
	}
	kind := elements[0].Kind()
	if kind < S || kind > B {
		return Value{}, false
	}
	sorted := slices.Clone(elements)
	for _, e := range sorted {
		if e.Kind() != kind {
			return Value{}, false
		}
	}
	slices.SortFunc(sorted, comparePayload)
	return Value{appendAll(kind-S+SS, slices.Compact(sorted))}, true
}

// Map returns the map with the attributes of it.
func Map(it Item) Value { return Value{appendBytes(M, it.enc)} }

// Kind returns the value's kind.
func (v Value) Kind() Kind {
	if v.enc == "" {
		return Missing
	}
	return Kind(v.enc[0])
}

// Exists reports whether the value is not Missing.
func (v Value) Exists() bool { return v.enc != "" }

// Text returns the text of an S, the bytes of a B, the digits of an N as DynamoDB prints them, and
// "" for other kinds.
func (v Value) Text() string {
	switch v.Kind() {
	case S, B:
		return v.payload()
	case N:
		return string(appendNumber(nil, v.payload()))
	default:
		return ""
	}
}

// True reports whether the value is the boolean true.
func (v Value) True() bool { return v.Kind() == BOOL && v.enc[1] == 1 }

// Item returns the attributes of an M, and the zero Item for other kinds.
func (v Value) Item() Item {
	if v.Kind() != M {
		return Item{}
	}
	return Item{v.payload()}
}

// Len returns the result of DynamoDB's function size: the characters of an S, counted in UTF-16,
// the bytes of a B, the elements of a set, an L or an M. It returns -1 for other kinds.
func (v Value) Len() int {
	switch v.Kind() {
	case S:
		return utf16Len(v.payload())
	case B:
		return len(v.payload())
	case M:
		return v.Item().Len()
	case L, SS, NS, BS:
		n := 0
		for range v.Elements() {
			n++
		}
		return n
	default:
		return -1
	}
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Elements returns the elements of an L in their order and those of a set in ascending order. Other
// kinds have none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		switch v.Kind() {
		case L, SS, NS, BS:
		default:
			return
		}
		for rest := v.payload(); rest != ""; {
			end := valueEnd(rest)
			if !yield(Value{rest[:end]}) {
				return
			}
			rest = rest[end:]
		}
	}
}

// Index returns element i of an L, from 0. It returns Missing beyond the end and for other kinds.
func (v Value) Index(i int) Value {
	if v.Kind() != L {
		return Value{}
	}
	for e := range v.Elements() {
		if i == 0 {
			return e
		}
		i--
	}
	return Value{}
}

// Contains reports whether a set or an L has the element e.
func (v Value) Contains(e Value) bool {
	for have := range v.Elements() {
		if have == e {
			return true
		}
	}
	return false
}

// Clone returns a copy of the value in its own memory.
func (v Value) Clone() Value { return Value{strings.Clone(v.enc)} }

// Compare returns -1, 0 or 1 if a is less than, equal to or greater than b. It compares S and B by
// bytes and N as numbers. ok is false if the kinds differ or have no order.
func Compare(a, b Value) (order int, ok bool) {
	kind := a.Kind()
	if kind != b.Kind() || kind < S || kind > B {
		return 0, false
	}
	return comparePayload(a, b), true
}

func comparePayload(a, b Value) int { return strings.Compare(a.payload(), b.payload()) }
