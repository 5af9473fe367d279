// Package command turns a command of the lease loop into a write of package lease, and the result
// of the write into the outcome of the command. It has no I/O, reads no clock and draws no random
// number. Package executor makes its writes on DynamoDB, and the simulator on a model of it.
//
//	LeaseCommand ──Config.Make(now)──▶ Request{Row, Write, Bucket} ──request──▶ made, or the row whose
//	                   │                      {Row, Headroom}                   condition failed
//	                   └ ErrInvalid                                                │
//	                                                                               ▼
//	                                                        Request.Outcome ──▶ LeaseOutcome, detail
//
// Invariants:
//
//   - LEASE-44: A write is one of lease.Protocol's, with its conditions; the expected version is
//     the command's. A write of a resource row has one more condition: the row is owned by the
//     executor's region. It guards against commands that reached the wrong region.
//   - LEASE-45: A released resource becomes available at the time in the command, which is never
//     before the end of its lease. A transferred one becomes available Config.TransferWait after
//     the clock was read for the attempt.
//   - LEASE-46: The outcome is DONE only if the row is as the command wants it, by this write or an
//     earlier one: it has the version after the command's, and the same content as far as it can be
//     known. It does not matter which process made the write.
//   - LEASE-47: The outcome is EARLY only if the row has the command's version, so the same command
//     can still succeed.
//   - LEASE-48: Every sequence of bytes gives a Request or ErrInvalid. No Request gives a DynamoDB
//     request that DynamoDB rejects as malformed.
//
// What it does not do: it does not decide whether a command is tried again, or until when
// (LeaseCommand.not_after_ms).
package command
