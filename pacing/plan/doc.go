// Package plan has the planned share A(t) of a day: which part of a daily budget is to be spent at
// a time. It is pure: time zones come as a *time.Location, times as Unix milliseconds.
//
//	earlier days by local hour: all ─▶ Learn ─▶ account's ─▶ Learn ─▶ campaign's ─▶ Learn ─▶ Shape
//	                                                                                           │
//	budget day, time zone ─▶ DayWindow ─▶ flight ─▶ Window ──────────────────────▶ New ◀───────┘
//	                                                                                │
//	                                           control.Observation.Planned ◀─ Plan.Share(t)
//
// For example:
//
//	own := plan.Learn(days, plan.Learn(accountDays, plan.Learn(allDays, plan.Uniform())))
//	window, _ := plan.DayWindow(20261101, location)
//	p := plan.New(own, window, plan.Config{Location: location})
//	o.Planned = p.Share(o.AtMs)
//
// # Learning
//
// A Shape is the share of each of the 24 hours of a local clock. Learn makes one from up to 14
// days: each day is scaled, so that a day with ten times the spend counts like any other. Then the
// mean of each hour is taken, without its highest and its lowest day if there are at least three:
// a trimmed mean, which one odd day cannot move beyond what other days had (J. Tukey, 1962; P.
// Huber, Robust Statistics, 1981). The result is moved towards the parent by credibility, n / (n +
// 3) for n days (H. Bühlmann, Experience rating and credibility, 1967). So no day at all gives the
// parent, and a single odd day has a weight of a quarter.
//
// A day of few actions has little information about its hours: below FullActions it counts as a
// part of a day.
//
// A Learner does the same day by day, with less memory: it has the uniform shape as its parent, and
// bounds what one day can change in place of leaving days out.
//
// # What to learn from
//
// A campaign that is paced by a plan spends by the plan, and would learn the plan again. Give Learn
// what the campaign could have spent: the spend of an hour, divided by the mean probability with
// which the campaign took part, and as Minutes the time for which its gate was open.
//
// # Invariants
//
//   - PACE-6: A share is in [0, 1] and never falls. It is exactly 0 up to the begin of the window,
//     and exactly 1 from the finish on: one hour before the end, or half of a window that is
//     short.
//   - PACE-7: Budget days are those of the time zone, of any length. They follow each other
//     without a gap and without overlap, also where a clock is set back over midnight.
//
// # What it does not do
//
// Days of the week are not distinguished, and no traffic is forecast: an event in the evening,
// which was not there on other days, is not in the plan. The controllers correct for it.
package plan
