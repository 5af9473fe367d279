// Package control decides how often a campaign takes part in auctions, and at what bid, so that its
// budget lasts for the day. It is pure: equal states and signals give equal results.
//
//	observation, each 10 s ─▶ Pacer ── stale, paused, spent, new budget or day ──▶ hold, stop, anchor
//	                            │
//	                            └─ Signals ─▶ Controller ─▶ State ─▶ Params: probability, multiplier
//	                                          PTR, Ratio, PID, Dual, ASAP, or a learner of your own
//
//	ad request ─▶ gate open, here and above ─▶ Coin below probability ─▶ bid × multiplier
//	              Hierarchy, Arms, Reservations
//
// All controllers compare the effective spend (what was charged, and the expected cost of ads that
// were shown and have not been charged yet) with a plan of the day. Money is in micros. A campaign
// whose budget, prices and spend are multiplied by a number gets the same parameters.
//
// # Controllers
//
//   - PTR raises or lowers the probability by a fixed step, whether the campaign is ahead of its
//     plan or behind it. It needs no other signal. Source: D. Agarwal and others, Budget pacing for
//     targeted online advertisements at LinkedIn, KDD 2014.
//   - Ratio multiplies the probability by a power of the need of a tick, divided by its cost. It is
//     for smooth delivery. Source: K.-C. Lee and others, Real time bid optimization with smooth
//     budget delivery, 2013.
//   - PID is a controller in velocity form on the logarithm of the probability. Source: W. Zhang
//     and others, Feedback control of real-time display advertising, WSDM 2016.
//   - Dual lowers bids and not the probability, by dual mirror descent on the price of the budget.
//     It buys more for the same budget. Source: S. Balseiro, H. Lu and V. Mirrokni, Dual mirror
//     descent for online allocation problems, ICML 2020.
//   - ASAP spends the budget as soon as it can, up to the gate.
//
// A campaign can get another controller at any time: Pacer.Continue.
//
// # Several budgets
//
// A Hierarchy has the budgets of an account: a campaign is paced by each budget above it, and the
// least probability, the least multiplier and the least rest count. A parameter that is not the
// least is not raised: its controller would not see an effect, and would raise it on.
//
// Arms split a campaign for an experiment: each has a share of the users, the same share of the
// budget, and a state of its own.
//
// A budget of fewer than TinyActions actions has no curve: the gate opens for one action after the
// other, as the plan continues, and servers reserve what they show until the next observation. It
// stays so until the next day, also if it is raised.
//
// # Invariants
//
//   - PACE-1: A probability is in [MinProbability, 1], a multiplier in (0, 1]. Neither is ever NaN,
//     whatever is observed, and whatever a Controller of your own returns.
//   - PACE-2: The logarithm of the probability, and of the multiplier, changes by at most MaxStep
//     in a tick, also at a new budget and after a pause. A new day has a probability of its own.
//   - PACE-3: A campaign with an effective spend of its budget or more does not pass the gate.
//     After a refund it passes again if at least ReopenShare of the budget is left.
//   - PACE-4: While data are stale the parameters stay, and the spend is extrapolated. After
//     Config.StopAfter a campaign with a budget stops.
//   - PACE-5: A tick that comes late or not at all changes the result as little as its time does:
//     steps are powers of the elapsed time. An observation of an earlier day that comes late
//     changes nothing.
//   - PACE-30: Controllers of several datacentres that pace a campaign by its whole spend approach
//     the mean of their parameters, Peers. While all know each other, the mean stays as it is.
//   - PACE-8: A campaign takes part only if the gates of all budgets above it are open, with the
//     least of their parameters.
//   - PACE-9: The budgets of the arms of a campaign are in sum never above its budget. An arm
//     spends at most the cost of one tick above its own, whatever other arms leave.
//   - PACE-10: What servers have reserved is never above the allowance that they share.
//
// # What it does not do
//
// It knows no clock, no campaign and no topic. Package budget has the budget of a day, also that of
// a month or of the life of a campaign, and package plan the plan of a day. It does not
// know currencies: a caller leaves out spend in another currency than the budget, and reports it.
// It does not know reserve prices, so Dual may bid below one: the campaign then takes part in
// fewer auctions.
package control
