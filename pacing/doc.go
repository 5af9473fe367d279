// Package pacing is the application that will pace campaigns. So far it keeps their budgets.
//
//	ads.budgets ─────────────┐
//	ads.budgets.from.<dc> ───┴─▶ pacing ─┬─▶ pacing.state  versions of each account (changelog)
//	                                     └─▶ pacing.dlq    refused records, with their problems
//
// A record is a version of the budgets of an account, a document of package budget. Of each account
// the state has the versions that were in force, are, or will be: budget.Versions. Records may come
// in any order, repeated, and from several datacentres. All datacentres that have accepted the same
// records have the same state. One with an older version of weir, or with other time zones, may
// refuse a record that another one has accepted, such as one with a field that it does not know: it
// lacks this version of the account until it is updated and its dead letter is replayed.
//
// # Invariants
//
//   - PACE-15: The state of an account does not depend on the order in which the records of the
//     inputs are folded, nor on repetitions, crashes and takeovers.
//   - PACE-16: A record that is not valid as a whole changes nothing. It is a dead letter with its
//     problems.
//
// # What it does not do
//
// It does not pace yet: no controller runs in it, and it reads no spend. The controllers are in
// package control. It raises no alerts. Replaced versions stay in ads.budgets for ever: a version
// with a hundred campaigns takes about 3 KB. The topics of another generation (spend.generation)
// begin without budgets: import them again.
package pacing
