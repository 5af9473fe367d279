// Package table has the parts of a table: its definition, its keys, and its rows in order.
//
//	Definition ── Keys (of the table, of each index) ── Append(item) ─▶ key ─▶ Rows
//
//	key of a table    hash of the partition key (8 bytes), partition key, sort key
//	key of an index   the same for the index's key attributes, then the key of the table
//
// Invariants:
//
//   - Rows are ordered by the hash of the partition key, and within a partition by the sort key:
//     strings and binaries by bytes, numbers as numbers. So a query is a range of keys, and a
//     segment of a scan is a range of hashes.
//   - No key is a prefix of another key of the same Keys.
//   - Items are immutable: a row that was read does not change.
//
// The package knows no time, no regions and no requests, and is not safe for concurrent use.
package table
