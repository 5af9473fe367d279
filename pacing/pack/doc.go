// Package pack paces the campaigns of one account: at each tick it makes an observation of each
// campaign, shared budget and arm from the account's spend, steps package control, and has the
// result as the account's packs.
//
//	budget.Versions ─▶ document in force ─▶ nodes: shared budgets, campaigns, arms
//	                                          │ Prepare: day, budgets of the day, plan
//	spend of the account ─▶ Signals ─────────▶ Step ─▶ parameters ─▶ parts that moved ─▶ Pack
//	eventspb.AccountPack of the owner before ─▶ Restore ─▶ states
//
// The caller has a tick of an account each 10 s:
//
//	q, ok := a.Prepare(now)   // false: no budgets are in force
//	// read the spend that q names, and add its rows to q.Sums
//	for _, part := range a.Step(&signals) {
//		put(part, a.Pack(part))
//	}
//
// # The budget of a day
//
// A daily budget is known at once. One of a month, or of a lifetime, depends on what was spent
// before the day. Query.From then begins with the first of these days, and the budget of the day is
// computed once. It is computed again on the next day, and when the limit in the document changes.
//
// # Cost, and what is in flight
//
// Controllers need the cost of the ads of a tick, and of those that were shown and are not charged
// yet. Ad servers report the ads, Shown, and package inflight estimates both for each node. Without
// reports, what was charged since the last tick stands for the cost, scaled to the time of a tick,
// since the age of the data changes from tick to tick, and nothing is in flight. Until the spend
// was read twice by this owner, the parameters stay.
//
// # The plan of a day
//
// An account learns the shape of its days, for the plan of the next one:
//
//	cost of a tick / (probability * multiplier) = what a campaign could have spent
//	that / mean of the campaign over a day = demand, relative to the day
//	mean of the campaigns, weighted by their budgets ─▶ hour of the day ─▶ plan.Learner
//
// Demand is a product of a factor of the campaign and one of the hour. The mean of a campaign is of
// the minutes for which its gate was open, weighted by the shape that is known, so the two factors
// are estimated in turns, a day each. Packs have both.
//
// Each datacentre learns. At the begin of a day all of them take the shape that counts most days,
// of those that were in their packs on the day before, for the plan. So their controllers, which
// act on the same spend, do not work against each other.
//
// # Parts
//
// An account of many campaigns has several packs, its parts, of about PartNodes nodes each. A part
// is to be written if a parameter in it has moved by more than WriteStep since it was written, at a
// new day or version of the budgets, and once in each WriteAfter, at a time of the account's own.
//
// # Alerts
//
// When 50, 80 and 100 % of a budget of a day are spent, the tick has an alert, and so has one from
// which on the budget has been expected to run out early for EarlyAfter. The packs remember them.
//
// # Recording
//
// Signals.Recorded takes what the controllers saw in a tick: of each node what has changed since
// the tick before, and in a whole tick everything. Package replay steps them again.
//
// # Invariants
//
//   - PACE-17: Spend of other days, of other currencies, and of campaigns that are not below a
//     node, does not count against the node's budget of a day.
//   - PACE-18: The budget of a day does not change by spend of earlier days that arrives late. It
//     survives a takeover.
//   - PACE-19: A takeover moves no parameter: until the new owner has read the spend, the
//     parameters are those that were written last, unless the gate closes or the day begins.
//   - PACE-20: A parameter that was written is at most WriteStep away from the one in force, as a
//     logarithm, and its gate is the same, as of the last tick.
//   - PACE-21: While the spend cannot be read, its age grows: control's rules of stale data hold.
//   - PACE-31: While an override of a campaign holds, its parameters are those of the override,
//     limited by its gate and by the budgets above it. Then its controller continues with its own.
//   - PACE-34: What is in flight survives a takeover, and ends with its day. See package pacing,
//     too.
//   - PACE-35: The plan changes at the begin of a day, and with the time zone and the plan of the
//     document. A takeover does not change it, and datacentres that have seen each other's packs of
//     a day have the same plan on the next one.
//   - PACE-25: A percentage of a budget of a day is one alert. After an increase of the budget it
//     is one again.
//
// # What it does not do
//
// It reads no clock and no topic. All campaigns of an account have one plan. It does not know the
// cost of one action, so no budget is tiny. Where the spend is not counted by arm (spend.parts), an
// arm is taken to have its share of what is not. A monthly budget needs the days of the month as
// rows of their own (spend.retention). A lifetime row counts against a lifetime budget as a whole,
// also its days before the first flight.
package pack
