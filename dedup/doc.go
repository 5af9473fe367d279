// Package dedup selects one lease of a key where two regions leased the key, each without seeing
// the lease of the other. One Dedup is one task: one partition of lease.changes, which has the rows
// of a key of all regions.
//
//	lease.changes ─ Fold ─▶ key: its rows by region ── two or more may be live ──▶ timer, due at once
//	                │                   │                                               │
//	                │                   └── one: the usual case ─▶ timer at its end      ▼
//	                └▶ settings of the pool ──────────────────────▶ OnTimer: decide by the live rows
//	                                                                    │            │
//	       lease.commands.<loser's region> ◀─ Supersede, Revoke ────────┘            │
//	       lease.duplicates, lease.journal ◀─ found, resolved; a tombstone after an hour
//
// A row is live if it is leased and its end is more than the skew away. Of the live rows of a key,
// the row that was granted first wins; at equal times, the first region by name. A row without a
// grant time comes last. The other rows are superseded: from the next call on, their agents use the
// winner's resource, and their own resource becomes free when its lease ends. If the winner's lease
// is about to end, dedup waits up to 2 s for its end or its renewal.
//
// Fold keeps rows and never decides. Only OnTimer decides, by the time of its call, so a change
// with a wrong time cannot make a lease look ended.
//
// # Invariants
//
//   - LEASE-29: A row has the greatest version seen of its region, in whatever order changes arrive
//     and however often.
//   - LEASE-30: At least one live row has no command against it: that of the winner.
//   - LEASE-31: A row with a command against it does not win as long as the task knows of no
//     greater version, because the command may have been carried out. So regions never supersede
//     each other: see below.
//   - LEASE-32: Each command has a winner that is leased and live, as far as the task knows.
//   - LEASE-33: A command is repeated, at growing intervals, as long as the task would still decide
//     the same.
//   - LEASE-34: A pool without known settings waits, and Stats counts that. Nothing is decided by
//     default settings.
//   - LEASE-35: A key has a state row and one timer until all its leases are over, and one minute
//     longer.
//
// # Decisions on stale rows
//
// A command has the version of the loser's row, and the executor carries it out on that version
// only. So a decision on a stale row of the loser has no effect. If the winner's lease has ended by
// then, the loser's agents see that and reinstate their lease with a greater version. One outcome
// must be impossible: all live rows of a key are superseded, each in favour of another one. Proof
// by contradiction: take such rows, and the last of the decisions that superseded them. When it was
// made, the task knew its winner W as leased at version v, with no command against v. W is
// superseded, too, by an earlier decision, on version u. If v = u, there was a command against v.
// If v > u, W was leased again after it was superseded at u, so a later decision must have
// superseded it now. Both contradict the assumption.
//
// The winner that a superseded row names may lose to a third region later. Then the row is
// superseded again in favour of that region, before its agents reinstate it.
//
// # What it does not do
//
// It ends no lease itself. In mode release the executor ends the lease of the loser. It ignores
// pending rows: they are not leases until their region confirms them. If all live rows of a key
// have commands against them and all their winners have ended, it waits for a new version of any
// row; a renewal is one.
package dedup
