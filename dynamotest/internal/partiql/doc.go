// Package partiql has the one statement of PartiQL that dynamotest takes, an INSERT:
//
//	INSERT INTO "resources" VALUE {'pk': ?, 'kind': 'gpu', 'tags': ['a', ?]}     ─▶ Parse ─▶ Insert
//	                               [{"S":"r-1"}, {"N":"3"}]                      ─▶ Insert.Item ─▶ item.Item
//
// Grammar, with keywords in any case, comments (-- and /* */) as space, and a semicolon at the end if need be:
//
//	insert = INSERT INTO table VALUE tuple
//	table  = bare_name | "name"
//	tuple  = { 'name': value, ... }
//	value  = ? | 'text' | number | true | false | null | tuple | [ value, ... ] | << 'text', ... >> | << number, ... >>
//
// Invariants:
//   - An Insert is immutable: one is kept for all requests with its text.
//   - What DynamoDB has and this package has not is an Unsupported, by its name. What neither has is an item.Error of code
//     Validation, which is about the statement alone.
//
// It does not know tables: whether an item fits into one is for package dynamotest.
package partiql
