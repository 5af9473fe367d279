// Package expr is DynamoDB's expression language: conditions and filters, updates, projections and key conditions.
//
//	text ─ ParseCondition, ParseFilter ─▶ *Condition    ─ Bind(names, values) ─▶ Test      .Holds(item)
//	     ─ ParseUpdate ─────────────────▶ *Update       ─ Bind(names, values) ─▶ Change    .Apply(item, key)
//	     ─ ParseProjection ─────────────▶ *Projection   ─ Bind(names) ─────────▶ Selection .Of(item)
//	     ─ ParseKey ────────────────────▶ *KeyCondition ─ Bind(names, values) ─▶ Keys      .Range(hash, sort)
//
// What is parsed depends on the text alone, never changes and is good for all goroutines: a server keeps it by its text.
// What is bound is good for one request and all the items that it is asked about.
//
// # The caller's part
//
// Of several errors the service tells one. It is the same one if a request is checked in this order:
//
//  1. CheckNames and CheckValues, if the request has the parameters, then the error of item.Decoder.Values.
//  2. Of update, condition, key condition, filter and projection, as far as there are any: Parse, Bind.
//  3. CheckUnused over all of them.
//  4. Keys.Check.
//  5. With the table known: CheckKeys, CheckScalars, CheckFilter, Keys.Range.
//
// A condition that does not hold is no error here: the operation makes ConditionalCheckFailedException of it.
//
// # Invariants
//
//  1. Every error is an *item.Error of code ValidationException with the service's text. Nothing panics, whatever the
//     text, the names, the values and the item are.
//  2. Evaluation changes neither the item nor the values, and what it gives shares no memory with anything that changes.
//  3. All values of an update are those of the item before it, all indexes those of its lists before it. So neither the
//     order of the actions nor that of the sections matters.
//  4. A comparison with something that is missing or of another type is false, <> is true. It is never an error, unless
//     the operand comes from the request.
//  5. Item and range agree: a key is in Keys.Range exactly if the text as a condition holds of it.
//
// # What it does not do
//
// It knows no tables: which attributes are keys the caller says. It does not check the size of an item after an update.
// It has none of the legacy parameters (Expected, AttributeUpdates, KeyConditions...),
// no PartiQL, and not the service's limit of 2 MB for all names and values together. What is put beyond the end of a list
// is not in Touched's selection of the new item.
package expr
