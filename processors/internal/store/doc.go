// Package store is the local store of one processor in one process: a Pebble database with the rows
// of all tables of its partitions, and for each partition the positions that belong to the rows.
//
//	committed changes ─▶ WriteBuffer ─▶ one batch: rows and positions ─▶ Pebble ─▶ snapshots, hashes
//	changelog ─────────▶ BulkLoader ──▶ tables that Pebble ingests
//
// Invariants:
//
//   - RUN-20: Rows and positions are written in one batch: the positions always belong to the rows.
//   - RUN-21: One goroutine at a time owns a partition (Acquire, Release).
//   - RUN-22: A damaged database is moved aside, not repaired: the changelog has the state.
//   - RUN-23: On a full disk writes stop before Pebble fails; the ballast file leaves space for the
//     last commit.
package store
