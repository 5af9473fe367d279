// Package failpoint lets a test stop a process between two steps of a commit. The hook is passed in
// the context of Run, as in net/http/httptrace, so that no Config has a field for it.
//
//	failpoint.WithHook(ctx, hook) ─▶ Runtime.Run ─▶ hook(Flushed), Produced, Written, Ended, Applied in each commit
//
// Invariants:
//
//  1. After an error of the hook the worker runs no further step of the commit.
//  2. One worker reaches its failpoints in order. Several workers call the hook concurrently.
//
// There are no failpoints outside commits: a test that wants a crash there cancels the context at
// any time.
package failpoint
