// Package store is the local store of one processor in one process: a Pebble database with the rows
// of all tables of its partitions, and for each partition the positions that belong to the rows.
//
//	committed changes ─▶ WriteBuffer ─▶ one batch: rows and positions ─▶ Pebble ─▶ snapshots, hashes
//	changelog ─────────▶ BulkLoader ──▶ tables that Pebble ingests
//
// Invariants:
//
//  1. Rows and positions are written in one batch: the positions always belong to the rows.
//  2. One goroutine at a time owns a partition (Acquire, Release).
//  3. A damaged database is moved aside, not repaired: the changelog has the state.
//  4. On a full disk writes stop before Pebble fails; the ballast file leaves space for the last
//     commit.
package store
