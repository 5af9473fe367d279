// Package command turns a command of the lease loop into a write of package lease, and the answer to the write into what is
// said of the command. It has no I/O, reads no clock and draws no random number: package executor carries its writes out on
// DynamoDB, and the simulator on a model of it.
//
//	LeaseCommand ──Terms.Make(now)──▶ Order{Row, Write, Shelf}   ──request──▶ made, or the row that refused it
//	                   │                   {Row, Headroom}                        │
//	                   └ ErrInvalid                                               ▼
//	                                                          Order.Outcome ──▶ LeaseOutcome, a sentence
//
// Invariants:
//
//  1. A write is one of lease.Protocol's, with its conditions; its expected version is the command's. A resource's has one more:
//     that the row is its region's. It guards against commands that went to the wrong one.
//  2. A resource becomes available again when the command says, which is never before the end of its lease; one that goes to
//     another region not before Terms.Wait after the clock was read for the attempt.
//  3. DONE is said only if the row was made what the command wants of it, now or before: the version that follows the
//     command's, and all of its contents that can be known. Whoever else made it the same made no difference.
//  4. EARLY is said only of a row that is at the command's version: the same command may still be carried out.
//  5. Whatever the command's bytes were, there is an Order or an ErrInvalid. No Order makes a request that DynamoDB refuses
//     as malformed.
//
// What it does not do: it does not decide whether an order is worth trying again, nor by when (LeaseCommand.not_after_ms).
package command
