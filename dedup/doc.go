// Package dedup decides which lease of a key goes on when two regions leased it, each having seen nothing of the other. One
// Dedup is one task: one partition of lease.changes, which has the rows of a key of all regions.
//
//	lease.changes ─ Fold ─▶ key: its rows by region ── more than one matters ──▶ a timer that is due at once
//	                │                   │                                            │
//	                │                   └── one, as most have ─▶ a timer at its end   ▼
//	                └▶ settings of the pool ───────────────────────────────▶ Fire: decide by the rows that are live
//	                                                                            │            │
//	       lease.commands.<loser's region> ◀─ Supersede, Revoke, and a timer ───┘            │
//	       lease.duplicates, lease.journal ◀── found, resolved; a tombstone an hour after ────┘
//
// A row is live if it is leased and its end is more than the skew away. Of the live rows of a key the winner is the one that
// was granted first, then the first by region; a row without a time of granting comes last. The others are superseded: their
// agents use the winner's resource from their next call on, and their own resource comes back at the end of its lease. If the
// winner is about to end, that or its renewal is waited for first, 2 s at most.
//
// Fold never decides: it keeps rows. Fire alone does, by the time at which it was called, so that no change with a wrong time
// makes a lease look over.
//
// # Invariants
//
//  1. A row is of the greatest version seen of its region, in whatever order changes come and however often.
//  2. The winner is never told that it lost: of the live rows there is always one that no command is against.
//  3. A row against which a command was given does not win, as long as the task knows of no greater version. The command may
//     have been carried out. So regions never supersede each other: see below.
//  4. No command is given without a winner that is leased and live, as far as the task knows.
//  5. A command is said again, later and later, as long as it is still what the task would decide.
//  6. Nothing is decided by settings that nobody set: a pool whose settings were not seen waits, and Stats says so.
//  7. A key has a row and one timer as long as a row of it is not over, and a minute longer.
//
// # What is known may be stale
//
// A command carries the version of the loser's row and is not carried out on another. So what is decided on rows that have gone
// on does nothing to the loser. The winner may have ended meanwhile: then the loser's agents see that and reinstate their
// lease, with a greater version. What must not be is that all live rows of a key are superseded, each in favour of another.
// Look at those, and at the decision that was the last among theirs. Its winner W was leased at the version v that the task
// knew, and no command was out against v. W is superseded too, by an earlier decision on a version u. If v is u, a command
// was out against v. If v is greater, W had been leased again after it was superseded at u, and the row that is
// superseded now is by a later decision. Both contradict.
//
// A superseded row may name a winner that lost to a third region's meanwhile. It is superseded again in favour of that one,
// before its agents reinstate it.
//
// # What it does not do
//
// It does not end leases, except that of a loser in mode release, and there the executor does. It follows no pending row: it
// is no lease before its region says so. If commands are out against all live rows of a key, and all their winners ended, it
// waits for a new version of any; a renewal is one.
package dedup
