// Package ring counts the events of the last 60 seconds, with one counter per millisecond, one per
// second and a running sum.
//
//	── too old ──┼──── 60,000 counters, sum = their sum ────┼─ Add moves the head ─▶
//	             head-60,000                            head
//
// Invariants:
//
//  1. Sum is the number of events that were added with head-60,000 < ms <= head. The head is the
//     greatest millisecond that Add or Advance received.
//  2. The head never goes back, except by Reset and Restore.
//  3. Moving the head by d milliseconds takes min(d, 60,000) steps. Reading a part of the window
//     takes at most 1,000 steps and one for each second.
//
// The package reads no clock: a caller that wants an idle ring to expire calls Advance. Events
// older than the window are not counted: Add returns false for them. A Ring must not be used by
// several goroutines at once.
package ring
