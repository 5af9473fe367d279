// Package expr implements DynamoDB's expressions: conditions and filters, updates, projections and
// key conditions.
//
//	ParseCondition, ParseFilter ─▶ *Condition    ─ Bind(names, values) ─▶ Test      .Holds(item)
//	ParseUpdate ─────────────────▶ *Update       ─ Bind(names, values) ─▶ Change    .Apply(item, key)
//	ParseProjection ─────────────▶ *Projection   ─ Bind(names) ─────────▶ Selection .Of(item)
//	ParseKey ────────────────────▶ *KeyCondition ─ Bind(names, values) ─▶ Keys      .Range(hash, sort)
//
// A parsed expression depends on its text alone, never changes, and can be used by several
// goroutines: a server caches it by its text. A bound expression belongs to one request, and can be
// applied to any number of items.
//
// # The caller's part
//
// DynamoDB reports one error of a request. This package reports the same one if the caller checks a
// request in this order:
//
//  1. CheckNames and CheckValues, if the request has the parameters, then the error of
//     item.Decoder.Values.
//  2. Parse and Bind of the update, condition, key condition, filter and projection, if the request
//     has them.
//  3. CheckUnused over all of them.
//  4. Keys.Check.
//  5. With the table known: CheckKeys, CheckScalars, CheckFilter, Keys.Range.
//
// A condition that does not hold is not an error of this package. The operation answers it with
// ConditionalCheckFailedException.
//
// # Invariants
//
//  1. Every error is an *item.Error of code ValidationException with DynamoDB's text. Nothing
//     panics, whatever the text, the names, the values and the item are.
//  2. Evaluation changes neither the item nor the values, and its results share no memory with
//     anything that changes.
//  3. All operands of an update are values of the old item, and all indexes are those of its lists.
//     So neither the order of the actions nor that of the sections matters.
//  4. A comparison with a missing value or a value of another type is false, except <>, which is
//     true. It is an error only if the operand comes from the request.
//  5. A key is in Keys.Range if and only if the same text as a condition holds for its item.
//
// # What it does not do
//
// It knows no tables: the caller names the key attributes. It does not check the size of an item
// after an update. It has none of the legacy parameters (Expected, AttributeUpdates, KeyConditions
// and so on), no PartiQL, and not DynamoDB's limit of 2 MB for all names and values together. An
// element that is set beyond the end of a list is not in Touched's selection of the new item.
package expr
