// Package lease is the lease protocol: the rows of the lease table, the writes that may change
// them, and the state machines that choose the next write. It has no I/O and reads no clock.
// Package agent executes the steps of the machines against DynamoDB; package model runs the same
// machines through every interleaving of small configurations.
//
//	Get, Renew, Release ── Step: read or write rows, or end ──▶ agent: a request to DynamoDB
//	      ▲                                                  ──▶ model: a step of an interleaving
//	      └──────────────── Observation: the rows, or which condition failed ────┘
//
// docs/leases.md has the protocol: resource rows and key rows, the states of a key row, and the
// five rules on which the invariants rest. Rules has the conditions of each write.
//
// Invariants, which package model checks in these interleavings, with crashes and lost answers at
// any point:
//
//   - LEASE-1: No two keys use one resource at the same time.
//   - LEASE-2: Of the leases that one region granted, no two users of a key have different
//     resources at the same time. A user in another region may begin a lease of that other region
//     as soon as a shared lease was released.
//   - LEASE-3: Two regions may lease one key at once, before replication. When one of the two
//     leases has been superseded and the clients have called again, all have the winner's resource.
//   - LEASE-4: A resource row is available, or leased, or retired; never two of these.
//   - LEASE-5: A lease that no holder released lasts until its end.
//   - LEASE-6: No acknowledged write is lost to a write of another region.
//   - LEASE-7: A late command does not undo what an administrator did after the command was
//     decided.
//   - LEASE-8: No resource is offered before the end of the last lease that any region knows of and
//     the quarantine.
//
// What it does not do: it promises nothing across regions before replication has delivered a row.
// It does not decide which of two regions' leases of a key wins (package dedup), nor where free
// resources go (package balancer). It has the rules for the writes of both.
package lease
