// Package ring counts events over the last 60 seconds, one counter per millisecond and a running sum.
//
//	      head-59,999                           head
//	─ late ─┼──── 60,000 counters, sum = their sum ────┼─ Add moves the head here ─
//
// Invariants:
//  1. Sum is the number of events added with head-60,000 < ms <= head, where head is the greatest millisecond ever
//     given to Add or Advance.
//  2. The head never goes back.
//  3. Moving the head by d milliseconds costs min(d, 60,000).
//
// It reads no clock: who wants an idle ring to expire calls Advance. Events older than the window are not counted;
// Add says so and the caller counts them apart. It is not safe for concurrent use.
package ring
