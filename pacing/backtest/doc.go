// Package backtest paces recorded campaigns again: it shows how controllers would have spread the
// budgets of days that were.
//
//	rows: time, campaign, spend, value ─▶ Recording ─▶ Days: window, budget, plan of each
//	                                                        │
//	              plan.Learn ◀── the days before ───────────┤
//	                                                        ▼
//	spend of a tick = recorded spend × probability ◀─▶ control.Pacer, each 10 s ─▶ Result, SVG
//
// It is pure. Equal recordings give equal results.
//
// # Assumptions
//
//   - What was recorded in a slot is what the campaign could have spent in it, with probability 1.
//     If the campaign was paced when it was recorded, it could have spent more: the back-test then
//     is stricter than the day was.
//   - Spend is proportional to the probability, and evenly spread over a slot: prices and
//     competitors do not react, and there is no chance in a tick. So errors are smaller than in
//     operation. A slot that goes beyond its budget day is of both days in part.
//   - The begin and the end of a day are known beforehand: the first and the last slot with a row,
//     or with Config.WholeDays the whole day between the first and the last row of the campaign. A
//     charge is known at the next tick.
//   - The plan of a day is learnt from earlier days of the recording alone: the campaign's own,
//     moved towards those of all campaigns. A day of all campaigns is their sum, scaled so that
//     none of them decides by its size. The first day has a uniform plan.
//   - The budget is known beforehand: a share of what was recorded on that day, or a fixed amount.
//
// # What it does not do
//
// Controllers that change bids, such as control.Dual, are not compared: a recorded spend has no
// bids, and so no answer to what a lower one would have bought. Package market has auctions.
package backtest
