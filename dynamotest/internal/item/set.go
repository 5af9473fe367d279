package item

import "slices"

// Union returns the set with the elements of both sets, which must be of one kind.
func Union(a, b Value) Value {
	all := slices.AppendSeq(slices.Collect(a.Elements()), b.Elements())
	v, _ := Set(all...)
	return v
}

// Minus returns the set of the elements of a that are not in b, or Missing if no element remains.
func Minus(a, b Value) Value {
	drop := slices.Collect(b.Elements())
	var rest []Value
	for e := range a.Elements() {
		if _, found := slices.BinarySearchFunc(drop, e, comparePayload); !found {
			rest = append(rest, e)
		}
	}
	v, _ := Set(rest...)
	return v
}
