// Package executor carries out the commands of the lease loop in one region, as conditional writes
// to DynamoDB. It makes all writes that the liberator, dedup and the balancer decide.
//
// An Executor is a stream.Sink, which package processors/sink runs.
//
//	lease.commands.<region> ─▶ sink: the commands of each row in order
//	                               │ Do
//	                               ▼
//	                  command.Make(clock) ─▶ one request to the region ─▶ Outcome ─▶ lease.results
//	                               ▲               │ throttled, refused,         (acknowledged)
//	                               │               │ no response                       │
//	                               └─── pause ◀────┘                     done: the offset may be
//	                                                                     committed
//
// Invariants:
//
//   - LEASE-49: A row is written only through the endpoint of Config.Region and only at the version
//     that the command names. A command that comes twice, late or out of order changes a row once.
//   - LEASE-50: The clock is read right before each attempt, an attempt is one request, and it ends
//     after Table.Timeout. A transferred resource becomes available Config.TransferWait after the
//     clock was read. TransferWait is longer than the sum of the greatest difference between two
//     clocks and the duration of a request.
//   - LEASE-51: After a response that shows that this machine's clock is wrong, no write begins
//     until a response shows that it is right.
//   - LEASE-52: Nothing is written through a region whose write lease has ended, or that was
//     adopted. The result of the commands of an adopted region is STALE. See table.WriteLease.
//   - LEASE-53: Each command has a result, after its write and before its offset is committed.
//     After a crash it may have two. The second result is DONE, too, unless another write has
//     changed the row between these results.
//   - LEASE-54: While the region does not answer, a command waits, and delays only the commands of
//     its row.
//
// A command after its not_after_ms is not carried out. Its result is LATE, or DONE if it is a
// transfer and the row shows that an earlier attempt made it.
//
// It makes no decisions, and does not spread bursts of commands over time: it writes as fast as
// Config.MaxRate and the table allow.
package executor
