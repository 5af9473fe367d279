// Package billing decides what of the spend of a budget day is billed: no more than the budgets
// allow, whatever was delivered.
//
//	budget.Document ─▶ Note ─▶ DayBudgets of the day ─┐
//	spend of the day, and of the days before ─────────┴─▶ Day.Bill ─▶ []BilledSpend
//
// # Budgets of a day
//
// Note adds a document that is in force to the budgets of the day. If budgets change within a day,
// the greatest one counts, since an amount that was lowered may have been spent before. A campaign
// that is removed within the day keeps its budget of the day.
//
// A daily budget allows its amount. A lifetime budget allows what the days before have left of it.
// A daily budget that is an average of a month allows its cap, and no more than the days before
// have left of the month. So the amount for a period is kept, and a day may have more than the
// part for which it was paced.
//
// # Shared budgets
//
// Of each campaign, the least of its spend and of its budget is billed. If the campaigns below a
// shared budget have more than it allows, each of them is billed less, in proportion to its amount,
// from the lowest shared budget to the highest. What is rounded goes to the first campaigns.
//
// # Invariants
//
//   - PACE-36: Of a campaign with a budget, and of those below a shared budget together, no more is
//     billed on a day than the greatest budget in force on it allows. Billed and overdelivered
//     amounts add up to the spend.
//
// # What it does not do
//
// A campaign that moves to another shared budget within the day counts against the last one alone.
// Spend without a budget is billed as it is: that of a campaign that the account's documents of the
// day do not have, and that in another currency. The days before count with what they spent, also
// where less was billed: an overdelivery for one of two budgets takes from the other one. What is
// counted after the day was billed is not billed.
package billing
