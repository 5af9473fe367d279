// Package pacing is the application that paces campaigns: it keeps the budgets of accounts, and
// decides every ten seconds how each campaign takes part in auctions.
//
//	ads.budgets ─────────────┐                    ┌─▶ pacing.by.<dc>  packs, versions of budgets,
//	ads.budgets.from.<dc> ───┴─▶ fold ─▶ accounts ┤                   leaders (changelog)
//	spend of the accounts ─────▶ tick ──────┤     ├─▶ pacing.alerts   alerts of budgets
//	                                        │     ├─▶ spend.billed    what of a day is billed
//	packs of other datacentres ─────────────┤     ├─▶ pacing.signals  what the controllers saw
//	ads.insertions.sums, of all datacentres ┘     └─▶ pacing.dlq      refused records
//
// # Budgets
//
// A record is a version of the budgets of an account, a document of package budget. Of each account
// the state has the versions that were in force, are, or will be: budget.Versions. Records may come
// in any order, repeated, and from several datacentres. All datacentres that have accepted the same
// records have the same versions. One with an older version of weir, or with other time zones, may
// refuse a record that another one has accepted, such as one with a field that it does not know: it
// lacks this version of the account until it is updated and its dead letter is replayed.
//
// # Ticks
//
// Accounts are in ten buckets by a hash of their names. Each second has the tick of one bucket:
//
//	Prepare ─▶ read the spend, beside the fold ─▶ Flush: step, packs that moved ─▶ transaction
//
// A partition has one owner, and its transactions are fenced. So one process writes the packs of an
// account, and package pack steps its campaigns. The steps are in memory. A pack is written when it
// has moved by 2 % or is a minute old: an owner that takes over continues from there.
//
// A tick is left out while the one before has not been handed over, such as while no broker
// answers. Controllers take the time that has passed into account.
//
// # Other datacentres
//
// Each datacentre has a controller for each campaign, and all act on the spend of all datacentres.
// The owner of a partition reads the packs that the others write, from then on, and the controllers
// approach the mean of their parameters: control.Peers. The state does not have the parameters of
// other datacentres: an owner that takes over knows them a minute later, when all packs were
// written again. So the pacing of a datacentre does not wait for another one.
//
// # Ads that were shown
//
// Ad servers report what they show, in each datacentre. The owner of a partition reads these
// records in all of them, from then on, and package pack estimates what is in flight. A report is
// repeated until it is acknowledged, and known by its number.
//
// # Billing
//
// At the first tick of an account on a day, and when its document changes, the row of the day gets
// the budgets in force: package pacing/billing. When a dataset has all events up to BillAfter the
// end of the day, the owner writes what is billed, and marks the row, in one transaction. The last
// row that is marked stays: so no day is billed again after a clock was set back, and days on which
// nothing ran are noticed.
//
// # Leaders
//
// The owner of a partition leads the shard of its accounts. It writes a row with its name and its
// epoch each LeadEvery, so that readers of the changelog notice a shard without a leader, and one
// with two. Operators can decide which process leads a shard, and how a campaign takes part in
// auctions: package pacing/override.
//
// # Invariants
//
//   - PACE-15: The versions of an account do not depend on the order in which the records of the
//     inputs are folded, nor on repetitions, crashes and takeovers.
//
//   - PACE-16: A record that is not valid as a whole changes nothing. It is a dead letter with its
//     problems.
//
//   - PACE-22: An account has a tick each control.Tick, or fewer. No two ticks of it wait at the
//     same time.
//
//   - PACE-29: A shard whose owner commits has a row of its leader that is a few seconds old. The
//     rows of a later owner have a greater pair of incarnation and epoch.
//
//   - PACE-34: An owner counts each report of ads once, also if it is repeated or comes late. A
//     takeover may count those of ten seconds twice, or not at all.
//
//   - PACE-37: A budget day is billed once, whatever crashes, aborted transactions and takeovers,
//     and not before a dataset has all events up to BillAfter its end.
//
// Package pack has those of the campaigns, and package billing those of what is billed.
//
// # What it does not do
//
// Packs are written for the own datacentre: package spendcache serves those of another one in their
// place. It knows no ads that were shown and not charged. The spend is read from a cache
// of this process, so a replay of the inputs gives the budgets and not the packs: package replay
// steps the controllers again, from the recorded ticks. Replaced versions
// stay in ads.budgets for ever: a version with a hundred campaigns takes about 3 KB. The topics of
// another generation (spend.generation) begin without budgets: import them again.
package pacing
