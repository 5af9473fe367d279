// Package item implements DynamoDB's attribute values and items: their comparison, arithmetic,
// sizes, sort order and JSON.
//
//	JSON ─ Decoder (over jsonscan) ─▶ Item, Value ─ AppendJSON ─▶ JSON
//	                                     │   ▲
//	        Get, All, Elements, Index ◀──┤   ├── Of, With, Only; Str, Num, List, Set, Map ...
//	        Compare, Add, Sub, Union ◀───┤
//	        Size, Depth ◀────────────────┤
//	        AppendKey ◀──────────────────┘     bytes that sort as the values do
//
// An Item is one immutable string, and so is a Value: names, values and all nested values, in the
// encoding that encoding.go describes. So a million items are a million strings of about the size
// of their text. Reading an attribute scans the attributes before it; changing an attribute copies
// the item. That suits items of a few hundred bytes that are read and replaced as a whole.
//
// # Invariants
//
//  1. Each value has one encoding: sets and attributes are sorted, numbers are normalised. So == is
//     DynamoDB's equality, for values of all types and for items, and an update that changes
//     nothing gives an equal item.
//  2. Numbers are exact: 38 digits, from 1E-130 to 9.9...E+125. A result that does not fit is an
//     error and is never rounded.
//  3. A decoded value is nested at most MaxDepth deep, and decodes to itself after encoding.
//  4. Text is UTF-8. It is never changed, and may contain NUL.
//
// # What it does not do
//
// It knows no schema: the caller checks which attributes are keys, and their types. It does not
// keep the order of a set's elements, as DynamoDB does not. It accepts only JSON booleans for BOOL
// and NULL, not the strings "true" and "yes", which DynamoDB converts.
package item
