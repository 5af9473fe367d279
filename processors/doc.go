// Package processors is the runtime of stream processors. It folds the partitions of Kafka topics
// into keyed state in Pebble and emits records, exactly once within one Kafka cluster. Other
// packages use Kafka and Pebble through this one and its sub-packages.
//
//	        assigned           barrier read          due: 100 ms to 1 s, records, bytes, Wake
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
//   - RUN-1: Each input record is folded into the committed state once, or is in the dead-letter
//     topic once, and never both.
//   - RUN-4: The state of a store equals a replay of the changelog up to the changelog offset of
//     the store.
//   - RUN-5: The input offset of a store is never ahead of the group's committed offset. Pebble is
//     written after Kafka has committed, in one batch with the offsets.
//   - RUN-6: Every output has one cause. Outputs, changelog records and input offsets are one
//     transaction.
//   - RUN-7: The transactions of a task are numbered without a gap. Input offsets never go back,
//     and no former owner writes after its successor.
//   - RUN-8: A record that is rejected, or that makes the handler panic, leaves nothing in state
//     and outputs.
//   - RUN-9: A timer that is set and not cancelled fires once, and not early.
//   - RUN-10: The watermark of a task never goes back.
//   - RUN-11: Where the store, the changelog and the group's offsets disagree, the changelog wins.
//   - RUN-12: No offset is reset. A partition that cannot continue stops alone and reports the
//     reason.
//   - RUN-13: An instruction to skip is carried out at the transaction and the position that it
//     names, or not at all.
//   - RUN-14: A state has one incarnation under all its owners. A state that begins again has a
//     greater one.
//   - RUN-19: A handler of a standby takes over only at the transaction of the store.
//
// docs/invariants.md lists all invariants of the project, with what keeps and what checks each.
//
// # Recovery
//
// There is one recovery path. A transaction that did not commit sends its tasks through a takeover,
// as if they had come from another process. docs/architecture.md has the commit cycle and the steps
// of a takeover.
//
// A stop is bounded, also without brokers: after Config.StopTimeout a worker abandons the
// transaction that it could not commit. The brokers abort it, and the next owner folds its records
// again.
//
// A takeover ends the process with ErrPartlyMoved if its marker states that offline.Repartition has
// not written the whole state, and with ErrMovedAway if it states that the state was moved away.
// Package offline explains why.
//
// # Records that cannot be read
//
// A partition whose next record cannot be read, because it is deleted or decompresses to more than
// kafka.MaxBatchBytes, commits what it has and stops. A batch that cannot be decoded, such as one
// with a wrong checksum, is fetched again for Config.UnreadableAfter first, since a network can
// change bytes, too. A changelog that cannot be read stops the partition as well, and no skip
// passes its batch. Temporary errors of brokers, such as a move of the leader, stop nothing,
// however long they last. An operator gives up a range of an input that cannot be read with
// kafkaadmin.ApplySkip, which writes an instruction to the changelog of the partition:
//
//	operator ── Skip{topic, from, to, after, who, why} ─▶ changelog[p]
//	stopped task: the changelog has grown ─▶ takeover: tail up to its barrier, Skip behind the last marker
//	  ─▶ handler at position to ─▶ first transaction: marker{inputs at to, skips}, offsets at to
//
// The owner carries it out, because only the owner is fenced: the position is in the marker and in
// the group's offsets, which one transaction must change together. An operator could change both
// only as the exclusive member, and would have to stop the partitions that can be read. The
// instruction names the last transaction that the operator saw (after) and the position (from). If
// the task is at another transaction or position, the instruction is void, so it cannot be carried
// out twice or late. Until the marker is committed, each takeover finds the instruction again. The
// marker keeps all ranges: rebuilds and replays leave them out, and Status lists them. Compaction
// keeps the instructions, too, as a log of the skips and their operators.
//
// # Timers, sources, standbys
//
// A TimerHandler has durable timers in event time or wall time. They are a table of the state, so
// they are committed, restored and moved with it. A timer fires in one committed transaction.
//
// A Handler with Close may own goroutines that read another system. Flush returns what they have
// read, with their positions, and a new Handler continues from the committed positions. Package
// bridge is an example.
//
// Read reads the committed state of a key's partition, and Owner returns the process that has it.
// Ask and AskCommitted call a function with the handler of a partition, between two batches, and
// HandlerOf returns the handler to readers of what it publishes. They reach the handlers of this
// process only. A handler that is a stream.CommitListener is called after each of its transactions.
// Package stream has the invariants.
//
// With Config.Standbys, other processes keep the state of each partition warm, and the group
// assigns a partition to a process that has it warm. For a processor with WarmStandbys they keep a
// handler, too, which gets each committed change of a row. This handler folds and emits nothing. At
// a takeover it is discarded unless it is at the transaction of the store.
//
// # Other packages
//
// Package program, beside this one, runs several processors in one process: it creates their
// topics, and serves metrics and the API. Most programs need it alone.
//
// Package offline takes savepoints, replays inputs beside the live processor, and moves state to
// another number of partitions. Package processorstest is the crash harness. DESIGN.md explains the
// runtime, docs/log-events.md its log.
//
// The runtime calls no handler from Kafka's callbacks and resets no offset by itself. Joins are
// handlers with several inputs; there is no query language.
package processors
