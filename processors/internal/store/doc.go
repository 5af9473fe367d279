// Package store is the local store of one processor in one process: a Pebble database with the rows of all tables of its
// partitions, and for each partition the positions that the rows belong to.
//
//	committed changes ─▶ WriteBuffer ─▶ one batch: rows and positions ─▶ Pebble ─▶ snapshots, hashes
//	changelog ─────────▶ BulkLoader ──▶ tables that Pebble ingests
//
// Invariants:
//
//  1. Rows and positions are written in one batch: a store is never ahead of its positions, nor behind them.
//  2. One goroutine at a time owns a partition (Acquire, Release).
//  3. A damaged database is put aside, not repaired: the changelog has the state.
//  4. A full disk stops the writes before Pebble fails; the ballast file leaves room for the last commit.
package store
