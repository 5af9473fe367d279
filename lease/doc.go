// Package lease is the protocol by which resources are leased on a DynamoDB table: the rows, every write that may be made
// to them, and the machines that decide which write is next. It has no I/O and reads no clock; package agent carries out
// what the machines ask for, and package model runs the same machines through every interleaving.
//
//	      ReadKeys                 Claim, Reclaim              Take                   Settle
//	Get ───────────▶ no lease ───────────────────▶ pending ───────────▶ key's lease ───────────▶ leased
//	        │                                        ▲  │ candidate gone                        │
//	        │ leased: done, 1 round trip             └──┘ Repoint                               Renew, Extend
//	        └ pending: help, whoever began                                                      Release, Drop
//
// Two kinds of rows. A resource row says whether a resource is available or which key holds it. A key row says which
// resource a key has in a region. Each is written only through the endpoint of the region that owns it, and each write
// adds one to its version.
//
// Rules of the protocol:
//
//  1. Every write is a comparison of the row's version and a change: what it was decided on is what it changes. Nothing
//     is decided on an index, whose rows are snapshots of the past: a candidate found there is taken only at its version.
//  2. The key row comes before the resource row when a lease begins. Whoever finds it pending goes on where the
//     other stopped (helping), with the same candidate; only when that is gone for good, because its version is over, may
//     the key row name another.
//  3. When a lease is lengthened or ended, the resource row comes before the key row. A key row that lags behind then
//     promises less than the resource row keeps. Who meets half a renewal, and whose own lease is not over, makes it whole
//     and goes on from there, as long as the key row still is of the lease that it knows.
//  4. A resource that is given back, early or late, is not available before its lease's end and a quarantine. So whatever
//     a key row, a copy of it in another region or a client's memory promises until then holds, also when they are stale.
//  5. Who holds a lease stops using it Skew before its end by the own clock; who ends or follows it waits until Skew after
//     it. No other rule reads a clock.
//
// Invariants, checked by package model in every interleaving with crashes anywhere:
//
//	I7  No two keys use one resource at one time.
//	I7r In a region no two users of a key have different resources at one time.
//	I8  Two regions may lease a key at once, each having seen nothing of the other; once one of them is superseded and the
//	    clients have asked again, all have the winner's.
//	I9  A resource row is available or leased, never both, and neither only while it is retired.
//	I17 A lease that nobody released is not ended before its end.
//	I18 No write that was acknowledged is lost to a write of another region.
//	I19 A late command does not undo what an administrator did after it was decided.
//	I20 No resource is offered before the end of the last lease that any region knows of, and the quarantine.
//
// What it does not do: it makes no promise across regions before replication has spoken; it does not decide which of two
// regions wins a key (package dedup) nor where free resources go (package balancer): it has the writes for it.
package lease
