// Package replayrange carries the offsets at which a replay begins and ends to the runtime.
//
//	offline.Replay.Run ── context.Context ──▶ Runtime.Run ──▶ worker: first and last offset of each input
//
// The range is passed in the context of Run, as a failpoint is, so that processors.Config has no
// field that only a replay sets.
//
// Invariants:
//
//   - RUN-40: A record at or after the end offset of its partition is never folded.
//   - RUN-41: The start offset counts only for a task that never committed. After that its marker
//     counts.
//
// It reads no topic; package offline checks that the inputs have the records.
package replayrange
