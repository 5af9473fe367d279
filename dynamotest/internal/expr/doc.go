// Package expr is DynamoDB's expression language: conditions and filters, updates, projections and key conditions.
//
//	text ── ParseCondition, ParseFilter ─▶ *Condition    ─ Bind(names, values) ─▶ Test      .Holds(item)
//	     ── ParseUpdate ─────────────────▶ *Update       ─ Bind(names, values) ─▶ Change    .Apply(item)
//	     ── ParseProjection ─────────────▶ *Projection   ─ Bind(names) ────────▶ Selection .Of(item)
//	     ── ParseKey ────────────────────▶ *KeyCondition ─ Bind(names, values) ─▶ Keys      .Range(hash, range)
//
// What is parsed depends on the text alone, never changes and is good for all goroutines: a server keeps it by its text.
// Binding checks what depends on names and values. All errors are *item.Error with the service's texts.
//
// # The caller's part, in this order, to give the error that the service gives where there are several
//
//  1. CheckNames and CheckValues, if the request has them.
//  2. Parse and Bind of update, condition, key condition, filter, projection: each bound before the next is parsed.
//  3. CheckUnused over all of them.
//  4. With the table known: CheckKeys, Keys.Range.
package expr
