// Package stream describes stream processors: what a processor's author writes, and the data that
// passes between the runtime (package processors) and a handler.
//
//	            ┌──Batch: records of one topic and partition──▶┐
//	processors ─┤──OnTimer: timers that are due───────────────▶├─ Handler (memory only)
//	            └◀─Changes: state and output records, at Flush─┘
//
// A Processor names its input topics, its changelog, its outputs, and a function that makes the
// Handler of a task. A task is one partition number of all inputs. A handler folds records in
// memory: it uses no Kafka client, no database, no clock and no goroutine. At the end of a
// transaction it hands over its Changes. The runtime commits them and the input offsets in one
// Kafka transaction, so that each record counts exactly once.
//
// There are two ways to write a handler:
//
//   - EachRecord makes one of a function that is called for each record. Its Context has the state,
//     outputs and timers. Begin with it.
//   - A type with Fold and Flush gets records in batches and keeps the open transaction itself.
//     Write one where the work per record must be small, or where the rows of a batch are looked up
//     at once.
//
// A handler never sees a record twice, and sees the records of one topic and partition in offset
// order. Batches and changes are plain memory that the runtime reuses: a handler copies what it
// keeps.
package stream
