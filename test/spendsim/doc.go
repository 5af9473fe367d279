// Package spendsim simulates ad spend in two to four datacentres in one goroutine, from one seed:
// the same seed gives the same history. A run of four and a half minutes of virtual time takes some
// tenths of a second.
//
//	Draw(seed) ─▶ Scenario ─▶ Run ─▶ History: violations, overspend and starvation under each policy
//
//	ad servers of eu ─▶ events of eu ─┬────────────▶ counter of eu ─▶ dataset of eu ─┬──────────▶ reader of eu ─▶ client of eu
//	        ▲                         └─ mirror of us ▶ counter of us                └─ push ───▶ reader of us        │
//	        └───────────────────── serve while the spend that they read is below the budget ◀──────────────────────────┘
//
// The spend counters, the ages of health rows, the Selector of each reader and events.MergeSpend
// are real. Logs, mirrors, pushers, readers and clients are models of what packages mirror, push,
// spendcache and spendcache/client promise; those packages have tests of their own. There is one
// shard. Steps are of 200 ms.
//
// # Policies
//
// The ad servers of all datacentres serve four campaigns with the same clicks, refunds and budget.
// The campaigns differ in the policy by which the spend is read:
//
//   - own: the dataset of the own datacentre. There is no fallback to another datacentre, and the
//     age of the figures has no effect.
//   - selection: the dataset that the Selector chooses; in degraded mode the merge of all.
//   - merge: the merge of all datasets that the reader has.
//   - guarded: the merge, unless it exceeds the chosen dataset by more than 5 %: then the chosen
//     one. In degraded mode the merge.
//
// In fail_safe mode all campaigns but that of own stop. The spend is the charges less the refunds,
// as spendcache.Row and client.Account have it. A fifth campaign has no budget.
//
// A policy overspends by the clicks that are served while the spend of all datacentres is at the
// budget or above. It starves the campaign by the clicks that are not served while it is below.
// Both are in seconds of the campaign's traffic. A budget day of even traffic has 86,400.
//
// A refund that is not yet counted starves a campaign that has used up its budget, under every
// policy. A counter that charges too much starves it for good.
//
// # Random numbers
//
// The traffic has random numbers of its own. It draws as many whatever happens, so the policies
// have the same clicks, and a mutation does not change them. All else, such as whether a
// transaction aborts, draws from a second sequence.
//
// # Checkers
//
//   - CONVERGED: after all faults have ended, the rows of each counter are those of a recount of
//     all records that it could have, by campaign, serving datacentre and event type, with the
//     duplicates. So is its number of late events. Each copy of a dataset equals the dataset.
//   - AUDIT: the audit shows a difference where a counter has lost events or charges too much, and
//     no other one. Each counter has minutes of each origin, up to the end. A datacentre that was
//     added is left out.
//   - LOST: a counter reports as many lost offsets of an origin as were lost, of events and
//     adjustments.
//   - COPIED: the copies of a log are its committed records, each once and in order.
//   - HEALTH: the charges of the rows of a dataset are those that its health row states, or more if
//     a row is newer (CACHE-2). No row is of an earlier state than the health row.
//   - CHARGED: no answer has more charges, or more refunds, than there were. A counter that charges
//     too much may have a quarter more for the clicks of that time. Each late copy of an event that
//     was sent twice may be charged.
//   - STOPPED: a dataset whose counter writes nothing is not chosen for longer than 40 s (CACHE-3).
//   - RETURNED: at the end each reader uses its own dataset, unless that has lost more records than
//     another one.
//   - OVERSPENT: selection and guarded overspend at most 15 s of traffic more than merge, and as
//     much more as the oldest dataset that a reader has chosen was older than 5 s, at most 25 s. If
//     a counter charges too much, the merge may stop early: then 86.4 s are allowed, 0.10 % of a
//     day.
//     More than that is unavoidable when merge overspends more than 71.4 s: no dataset that a
//     reader has contains the clicks, because brokers or links were away while they were served.
//   - ERROR: a counter refuses no record and returns no error, and nothing fails to decode.
//
// TestSeeds checks over all its seeds, if they are many, that selection overspends less than own in
// the mean, and that each fault happened in some runs. Mutation tests prove that each checker finds
// violations: see Mutations.
//
// # What differs from the defaults
//
// Runs are short, so some times are shorter than in production. An answer is fail_safe after 45 s
// and not 10 minutes, and an event is late 60 s behind the newest of its origin and not 120 s. In
// fail_safe mode campaigns stop, so starvation is greater than in production.
//
// # What it does not do
//
// It has no clocks that jump, no more than one shard, and no retention. Requests do not fail alone:
// a connection is cut, or it stalls, or neither. No datacentre is removed. A datacentre that is
// added begins with the first record of all others. The duplicate window of 10 minutes does not end
// in a run. Campaigns with a budget stop 45 s before the end, so that the readers return without
// bursts of traffic: see TestBurst of package selection.
package spendsim
