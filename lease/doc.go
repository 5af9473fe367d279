// Package lease is the lease protocol: the rows of the lease table, the writes that may change
// them, and the state machines that choose the next write. It has no I/O and reads no clock.
// Package agent executes the steps of the machines against DynamoDB; package model runs the same
// machines through every interleaving.
//
//	      ReadKeys                 Claim, Reclaim              Take                   Settle
//	Get ───────────▶ no lease ───────────────────▶ pending ───────────▶ granted ───────────────▶ leased
//	        │                                        ▲  │ candidate taken by another key        │
//	        │ leased: done, 1 round trip             └──┘ Repoint                               Renew, Extend
//	        └ pending: continue with the same candidate                                         Release, Drop
//
// There are two kinds of rows. A resource row states whether a resource is available, or which key
// holds it. A key row states which resource a key has in a region. Each row is written only through
// the endpoint of the region that owns it, and each write adds one to the row's version.
//
// Rules of the protocol:
//
//  1. Compare and change. Every write is conditional on the row's version, so a decision changes
//     exactly the row on which it was made. Nothing is decided on the index, whose entries are old
//     copies: a candidate from the index is taken only if its row still has the version in the
//     index.
//  2. Key row first, when a lease begins. A process that finds a pending key row continues with the
//     same candidate, whichever process began. The key row may name another candidate only when the
//     resource row has passed the candidate's version, so that the first one can never be taken.
//  3. Resource row first, when a lease is renewed or released. A stale key row then shows an
//     earlier end than the resource row. A process that finds half of a renewal, while its own
//     lease is valid, completes it, if the key row still names the same lease.
//  4. Quarantine. A released resource is available only after the end of its lease and the
//     quarantine. So every promise of a key row, of its copy in another region, or in a client's
//     memory stays true until then, also when that copy is stale.
//  5. Clocks. A holder stops using the resource Skew before the lease's end by its own clock. A
//     process that ends the lease, or grants the next one, waits until Skew after the end. No other
//     rule reads a clock.
//
// Invariants, which package model checks in every interleaving with a crash at any point. The
// numbers are those of all invariants of the project. Package internal/invariant has I1 to I6.
//
//	I7  No two keys use one resource at the same time.
//	I7r Of the leases that one region granted, no two users of a key have different resources at the
//	    same time. A user in another region may begin that region's lease as soon as a shared lease
//	    was released.
//	I8  Two regions may lease one key at once, before replication. When one of the two leases has
//	    been superseded and the clients have called again, all have the winner's resource.
//	I9  A resource row is available, or leased, or retired; never two of these.
//	I17 A lease that no holder released lasts until its end.
//	I18 No acknowledged write is lost to a write of another region.
//	I19 A late command does not undo what an administrator did after the command was decided.
//	I20 No resource is offered before the last lease that any region knows of has ended and the
//	    quarantine has passed.
//
// What it does not do: it promises nothing across regions before replication has delivered a row.
// It does not decide which of two regions' leases of a key wins (package dedup) and where free
// resources go (package balancer); it has the rules for their writes.
package lease
