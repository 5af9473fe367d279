// Package failpoint is the way by which a test stops a process between two truths of the commit cycle, without a setting that
// everybody sees: the hook travels in the context of Run, as net/http/httptrace does it.
//
//	edge.With(ctx, hook) ─▶ Runtime.Run ─▶ hook(Flushed), Produced, Written, Ended, Applied in each commit
//
// Invariants:
//
//  1. An error of the hook ends the worker where it stands: nothing of the commit cycle runs after it.
//  2. The edges of one worker come in order. Workers call the hook at the same time.
//
// It does not name edges outside commits: a process that dies there dies "anywhere".
package failpoint
