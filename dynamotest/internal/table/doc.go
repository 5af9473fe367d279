// Package table has what a table is made of: its definition, its keys, and its rows in order.
//
//	Definition ── Keys (of the table, of each index) ── Encode(item) ─▶ key ─▶ Rows
//
//	key of a table    hash of the partition key (8 bytes), partition key, sort key
//	key of an index   the same of the index's keys, then the key of the table
//
// Invariants:
//   - Rows are ordered by the hash of the partition key, and within a partition by the sort key, by bytes or by worth.
//     So a query is a range, and a segment of a scan is a range of hashes.
//   - No key is the beginning of another of the same Keys.
//   - Items are immutable: a row that was read stays as it was.
//
// It knows no time, no regions and no requests, and does no locking.
package table
