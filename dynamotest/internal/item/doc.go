// Package item has the values of DynamoDB's attributes and the items made of them: how they are compared, added, measured
// and sorted, and their JSON on the wire.
//
//	wire JSON ─ Decoder (over jsonscan) ─▶ Item, Value ─ AppendJSON ─▶ wire JSON
//	                                          │   ▲
//	             Get, All, Elements, Index ◀──┤   ├── Of, With, Only; Str, Num, List, Set, Map ...
//	             Compare, Add, Sub, Union ◀───┤
//	             Size, Depth ◀────────────────┤
//	             AppendKey ◀──────────────────┘     bytes that sort as the values do, for a store of keys
//
// An Item is one immutable string, and so is a Value: names, values and all that is nested in one another, in an encoding
// of their own (encoding.go). A store of a million items is a million strings of about the size of their text; reading an
// attribute walks over those before it; changing one copies the item. That suits items of a few hundred bytes, which are
// read and replaced as a whole.
//
// # Invariants
//
//  1. There is one encoding for each value: sets and attributes are sorted, numbers are normal. So == is the service's
//     equality, for values of all types and for items, and an update that changes nothing is seen by ==.
//  2. Numbers are exact: 38 digits from 1E-130 to 9.9...E+125. A result that does not fit is an error, never rounded.
//  3. What has been decoded, encodes and decodes to the same. It is nested at most MaxDepth deep.
//  4. Text is UTF-8. Nothing in it is changed, also not a NUL.
//
// # What it does not do
//
// It knows no schema: which attributes are keys, and of which type they have to be, the caller checks. It does not keep
// the order of a set's elements, which the service does not promise either. It takes only JSON booleans for BOOL and NULL,
// not the strings "true" or "yes", which the service converts.
package item
