// Package spendsim simulates ad spend in two to four datacentres in one goroutine, from one seed:
// the same seed gives the same history. A run of four minutes of virtual time takes some tenths of
// a second.
//
//	Draw(seed) ─▶ Scenario ─▶ Run ─▶ History: violations, and the overspend under each policy
//
//	ad servers of eu ─▶ events of eu ─┬────────────▶ counter of eu ─▶ dataset of eu ─┬──────────▶ reader of eu ─▶ ad servers
//	        ▲                         └─ mirror of us ▶ counter of us                └─ push ───▶ reader of us     of eu
//	        └───────────────────── serve while the spend that they read is below the budget ◀────────────┘
//
// The spend counters, the Selector of each reader and events.MergeSpend are real. Logs, mirrors,
// pushers and readers are models of what packages mirror, push and spendcache promise; those
// packages have tests of their own. There is one shard. Steps are of 200 ms.
//
// # Policies
//
// The ad servers of all datacentres serve four campaigns at the same rate, with the same budget.
// The campaigns differ in the policy by which the spend is read:
//
//   - own: the own datacentre's dataset, always.
//   - selection: the dataset that the Selector chooses; in degraded mode the merge of all; in
//     fail_safe mode the campaign stops.
//   - merge: the merge of all datasets that the reader has, always.
//   - guarded: the merge, unless it exceeds the chosen dataset by more than 5 %: then as selection.
//
// A policy overspends by the clicks that are served after the spend of all datacentres has reached
// the budget. It starves the campaign by the clicks that are not served before. Both are in seconds
// of the campaign's traffic. A budget day of even traffic has 86,400.
//
// # Checkers
//
//   - CONVERGED: after all faults have ended, each dataset equals a recount of all events that its
//     counter could have, row by row, and each copy of a dataset equals the dataset.
//   - LOST: a counter reports lost records of an origin if and only if copies were lost.
//   - COPIED: the copies of a log are its committed records, each once and in order.
//   - HEALTH: the charges of the rows of a dataset are those that its health row states, or more if
//     a row is newer (CACHE-2). No row is of an earlier state than the health row.
//   - CHARGED: no answer exceeds what was charged in truth.
//   - STOPPED: a dataset whose counter writes nothing is not chosen for longer than 40 s (CACHE-3).
//   - RETURNED: at the end each reader uses its own dataset, unless that has lost records.
//
// Mutation tests prove that each checker finds violations: see Mutations.
//
// # What it does not do
//
// It has no clocks that jump, no more than one shard, and no retention. Requests do not fail alone:
// a connection is cut or it is not.
package spendsim
