// Package processors is the runtime of stream processors. It folds the partitions of Kafka topics
// into keyed state in Pebble and emits records, exactly once within one Kafka cluster. With its
// sub-packages it is the only package that uses Kafka and Pebble.
//
//	        assigned           barrier read          due: 100 ms to 1 s, records, bytes
//	group ──────────▶ restoring ──────────▶ running ──┬──────────────────────────────┐
//	                   ▲  │ gap, new topic id,        │ poll ▶ Fold (memory only)    ▼
//	                   │  │ poison, newer store       ▼
//	                   │  └──────▶ stopped          Flush ▶ produce changes, outputs, DLQ, marker
//	                   │                                  ▶ End: offsets too, one transaction
//	                   └── aborted or unknown ◀─── committed? yes ▶ one Pebble batch: state, meta
//
// A Processor (package stream) is an application id, its co-partitioned input topics, one changelog
// and its output topics. A task is one partition number of a processor. A worker is a goroutine
// with one transactional session; it runs several tasks. A Handler is the code of one task. It does
// no I/O: it gets batches, and returns its changes at a commit.
//
// In the terms of Kafka Streams: a Processor is a topology with one sub-topology, a worker is a
// stream thread, processing.guarantee is exactly_once_v2, and the store has the offsets of its own
// changelog, so that a clean restart restores only the tail.
//
// # Invariants
//
//  1. Each input record is folded into the committed state once, or is in the dead-letter topic
//     once, and never both.
//  2. The state of a store equals a replay of the changelog up to the changelog offset of the
//     store.
//  3. The input offset of a store is never ahead of the group's committed offset. Pebble is written
//     after Kafka has committed, in one batch with the offsets.
//  4. Every output has one cause. Outputs, changelog records and input offsets are one transaction.
//
// Package invariant, and the tests, number them I1, I4, I5 and I6.
//
// # Recovery
//
// There is one recovery path. A transaction that did not commit (aborted, timed out, or with an
// unknown outcome) sends its tasks through a takeover, as if they had come from another process:
// barrier, tail of the changelog, comparison with the committed offsets, and a new Handler from
// committed state. The rewind of the Kafka client is not used.
//
// # Timers, sources, standbys
//
// A TimerHandler has durable timers in event time or wall time. They are a table of the state, so
// they are committed, restored and moved with it. A timer fires in one committed transaction.
//
// A Handler with Close may own goroutines that read another system. Flush hands over what they have
// read, with their positions, and a new Handler continues from the committed positions. Package
// bridge is one.
//
// With Config.Standbys, other processes keep the state of each partition warm, and the group
// assigns a partition to a process that has it warm.
//
// # Other packages
//
// Package offline takes savepoints, replays inputs beside the live processor, and moves state to
// another number of partitions. Package processorstest is the crash harness. DESIGN.md explains the
// runtime, EVENTS.md its log.
//
// The runtime calls no handler from Kafka's callbacks and resets no offset by itself. Joins are
// handlers with several inputs; there is no query language.
package processors
