package item

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf16"
)

// Value is one attribute value. It is immutable, and two values are equal for the service exactly if they are == (sets
// without regard to order, numbers by what they are worth): it can be the key of a Go map. The zero Value is Missing.
//
// A Value taken out of another one shares its memory. One that is to live longer than what it came from is cloned.
type Value struct {
	enc string // a tag, and what encoding.go says
}

// String, as in a Go test's message, is the value's JSON. Text is what a string holds.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// Str returns the string s, which must be UTF-8.
func Str(s string) Value { return Value{appendBytes(S, s)} }

// Bin returns the binary whose bytes are those of b.
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

// List returns the list of the values, of which none may be Missing.
func List(values ...Value) Value { return Value{appendAll(L, values)} }

// Set returns the set of the elements, all of one kind among S, N and B, or ok false if there are none, their kinds
// differ, or one is none of these. Equal elements become one.
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

// Map returns the map whose attributes are those of it.
func Map(it Item) Value { return Value{appendBytes(M, it.enc)} }

// Kind returns the value's kind.
func (v Value) Kind() Kind {
	if v.enc == "" {
		return Missing
	}
	return Kind(v.enc[0])
}

// Exists tells whether the value is not Missing.
func (v Value) Exists() bool { return v.enc != "" }

// Text returns the characters of an S, the bytes of a B, the digits of an N as the service prints them; "" of others.
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

// True tells whether the value is the boolean true.
func (v Value) True() bool { return v.Kind() == BOOL && v.enc[1] == 1 }

// Item returns the attributes of an M; of others none.
func (v Value) Item() Item {
	if v.Kind() != M {
		return Item{}
	}
	return Item{v.payload()}
}

// Len returns what the function size gives: the characters of an S, counted in UTF-16, the bytes of a B, the elements of
// a set, an L or an M; of others -1.
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

// Elements returns the elements of an L in their order, of a set in ascending order; of others none.
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

// Index returns element i of an L, from 0; Missing where there is none, and of other kinds.
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

// Contains tells whether a set or an L has the element e.
func (v Value) Contains(e Value) bool {
	for have := range v.Elements() {
		if have == e {
			return true
		}
	}
	return false
}

// Clone returns the value in memory of its own.
func (v Value) Clone() Value { return Value{strings.Clone(v.enc)} }

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b: S and B by bytes, N by worth. ok is false if
// the kinds differ or have no order.
func Compare(a, b Value) (order int, ok bool) {
	kind := a.Kind()
	if kind != b.Kind() || kind < S || kind > B {
		return 0, false
	}
	return comparePayload(a, b), true
}

func comparePayload(a, b Value) int { return strings.Compare(a.payload(), b.payload()) }
