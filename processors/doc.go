// Package processors folds Kafka partitions into keyed state kept in Pebble and emits records, exactly once per Kafka
// cluster. It is the only package, with its sub-packages, that knows Kafka and Pebble.
//
//	           assigned            barrier read            due: 100 ms .. 1 s, bytes, records
//	group ───────────▶ restoring ───────────▶ running ──┬──────────────────────────────────────┐
//	                     ▲  │ gap, recreated topic,     │ poll ▶ Handler.Fold (memory only)    │
//	                     │  │ poison, newer store       ▼                                      ▼
//	                     │  └──────▶ stopped          Flush ▶ produce changelog, outputs, DLQ, marker
//	                     │                                  ▶ End(commit): offsets + records, one transaction
//	                     └── aborted or unknown ◀─────────── committed? yes ▶ one Pebble batch: state + meta
//
// A Processor is an application id, its co-partitioned input topics, one changelog and its output topics. A task is one
// partition number of it. A worker is a transactional session and a goroutine that runs some tasks. A Handler is the
// core of one task: pure, fed by batches, asked for its changes at a commit.
//
// Invariants:
//
//	I1 A record is folded into committed state once, or is in the dead-letter queue once, never both.
//	I4 State equals a replay of the changelog up to the stored changelog offset.
//	I5 The stored input offset is never ahead of the group's committed offset: Pebble is written after Kafka said
//	   committed, in one batch with the offsets it belongs to.
//	I6 Every output has one cause: outputs, changelog and input offsets are one transaction.
//
// The client's own rewind is never trusted. Whatever ends otherwise than committed (abort, time-out, unknown) sends the
// touched tasks through the same path as taking over a partition: barrier, tail of the changelog, comparison with the
// committed offsets, a new Handler from committed state.
//
// A TimerHandler has durable timers, in event time or by the time of day. They are a table of the state, so they are
// committed, restored and moved with it; a timer fires in one committed transaction, once.
//
// A Handler with Close may hold more than memory: goroutines that read elsewhere and that Flush drains. What they found out is
// committed with the positions that they are at, and a new Handler begins there; see package bridge.
//
// Package offline takes savepoints, replays the inputs beside the live processor and moves the state to another number of
// partitions. Package processorstest runs a processor with crashes in virtual time.
//
// With Config.Standbys other processes keep each partition warm, and the group gives a partition to where it is warm.
//
// What it does not do: it runs no user code on Kafka's callbacks; it resets no offset by itself; it joins by handlers, there is
// no query language.
package processors
