// Package replayrange carries the offsets at which a replay begins and ends to the runtime.
//
//	offline.Replay.Run ── context.Context ──▶ Runtime.Run ──▶ worker: first and last offset of each input
//
// The range travels in the context of Run, as a failpoint does, so that processors.Config has no
// field that a replay alone sets.
//
// Invariants:
//
//   - RUN-40: A record at or after the end offset of its partition is never folded.
//   - RUN-41: The start offset counts only for a task that never committed. After that its marker
//     counts.
//
// It reads no topic; package offline checks that the inputs have the records.
package replayrange
