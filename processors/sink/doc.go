// Package sink runs a stream.Sink: it calls a function for each record of a topic, at least once,
// to act on a system that no Kafka transaction includes.
//
//	                                          first of its key, a call is free
//	fetch ──▶ queue of the partition ──────────────────▶ Do ──nil──▶ done ──▶ commit up to the
//	  ▲          │ full                                  │ error              first record that
//	  └─ pause ◀─┘                                       └──▶ pause, then     is not done
//	                                                          Do again
//
// Invariants:
//
//   - RUN-60: Nothing is skipped. A record is done when Do has returned nil for it, or Sink.GiveUp
//     has after Sink.Retries. No offset after a record that is not done is committed.
//   - RUN-61: Records of one key are done one after another, in the order of the partition. A
//     record that fails delays only the records of its key, until Sink.Pending records of its
//     partition are in memory. Then fetching of the partition pauses.
//   - RUN-62: When a partition is revoked or the process stops, running calls have Config.Grace to
//     end. Then they are cancelled and not committed: the next owner of the partition calls Do
//     again.
//   - RUN-63: No offset is reset. A partition that cannot be read at its offset stops, and its
//     Status holds the reason. Sink.SkipTrimmed is the exception: it continues after records that
//     retention has deleted.
//   - RUN-64: A stopped partition continues behind a range that an operator gives up with
//     kafkaadmin.ApplySkip. The instruction is an offset of kafka.SkipGroup, for one position. From
//     then on, each owner writes the range into the metadata of the partition's commits:
//     Status.Skipped.
//
// It keeps no state, writes no output and has no dead-letter topic.
package sink
