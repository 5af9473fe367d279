// Package partiql parses the one PartiQL statement that dynamotest supports, INSERT:
//
//	INSERT INTO "resources" VALUE {'pk': ?, 'kind': 'gpu', 'tags': ['a', ?]}     ─▶ Parse ─▶ Insert
//	                               [{"S":"r-1"}, {"N":"3"}]                      ─▶ Insert.Item ─▶ item.Item
//
// Keywords may be in any case, comments (-- and /* */) count as space, and a statement may end with
// a semicolon. The grammar is:
//
//	insert = INSERT INTO table VALUE tuple
//	table  = bare_name | "name"
//	tuple  = { 'name': value, ... }
//	value  = ? | 'text' | number | true | false | null | tuple | [ value, ... ] |
//	         << 'text', ... >> | << number, ... >>
//
// Invariants:
//
//   - An Insert is immutable, so one can serve all requests with its text.
//   - A statement that DynamoDB accepts and this package does not gives an Unsupported that names
//     the missing feature. A statement that DynamoDB rejects gives an item.Error of code
//     Validation, which concerns that statement alone.
//
// The package knows no tables: package dynamotest checks whether a table can hold the item.
package partiql
