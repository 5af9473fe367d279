// Package executor carries out the commands of the lease loop on DynamoDB, in one region each: the only place where what
// liberator, dedup and balancer decided becomes a write.
//
//	lease.commands.<region> ─▶ effects: each row's commands in their order
//	                               │ Do
//	                               ▼
//	                     order.Make(clock) ─▶ one request at the region's endpoint ─▶ order.Outcome ─▶ lease.results
//	                               ▲                     │ throttled, no answer, refused                (acknowledged)
//	                               └──── backoff ◀───────┘                                                  │
//	                                                                                     done: its offset may be committed
//
// Invariants:
//
//  1. A row is written through the endpoint of Config.Region only, at the version of the command only: whatever comes twice,
//     late or out of turn changes a row once.
//  2. The clock is read right before each attempt, an attempt is one request, and it ends with Table.Timeout: what a transfer
//     makes available is so not before Config.Wait after that, which is longer than clocks are apart and a request is under way.
//  3. No write is begun after an answer that showed this machine's clock to be off, before another answer shows it right.
//  4. Nothing is written through a region whose region lease is over, or that was adopted (commands
//     then are STALE): see leasetable.Limit.
//  5. Each command has a result, after its write, before its offset is committed; after a crash it may have two. The last
//     then says DONE, too, unless somebody wrote the row in between.
//  6. A command waits as long as its region cannot be reached, and holds back those of its row alone.
//
// A command whose not_after_ms is over is not carried out any more. It is LATE, unless the row shows that it was made.
//
// What it does not do: it decides nothing, and it spreads nothing over time, beside writing no faster than the table takes.
package executor
