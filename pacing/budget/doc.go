// Package budget has the budgets of an account's campaigns: the document that a person writes, its
// record in the topic ads.budgets, and what a campaign may spend on a budget day.
//
//	JSON of a person ─▶ Decode ──┐                                  ┌─▶ At: the version in force
//	                             ├─▶ Document ─▶ Versions.Add ──────┤
//	eventspb.AccountBudgets ─────┘   checked     greatest version   └─▶ Day: budgets of a campaign,
//	                                                                    of its shared budgets, and of
//	                                                                    its arms
//
// # The document
//
//	{
//	  "account": "acme",
//	  "time_zone": "Europe/Berlin",
//	  "currency": "EUR",
//	  "shared": [
//	    {"id": "brand", "daily": "500.00"}
//	  ],
//	  "campaigns": [
//	    {"campaign": "spring", "daily": "100.00"},
//	    {"campaign": "launch", "lifetime": "20000", "shared": "brand",
//	     "flights": [{"begin": "2026-11-01", "end": "2026-11-30"}],
//	     "arms": [{"arm": "control", "share": "0.5"}, {"arm": "new", "share": "0.5"}]},
//	    {"campaign": "always", "average_daily": "80", "cap": "2.0", "controller": "asap"}
//	  ]
//	}
//
// It is the whole of an account: a campaign that is not in it has no budget. Amounts and shares are
// decimal numbers in quotes, so that none of them passes through a floating-point number. Unknown
// fields are refused, and so are fields that occur twice.
//
// # Kinds of budgets
//
//   - daily: at most the amount on each budget day.
//   - lifetime: at most the amount in all flights together. What is left is spread over the time
//     that is left in the flights.
//   - average_daily: the amount a day on average over a calendar month, and at most cap times the
//     amount on one day. A month has the amount for each of its days in flights. The rest of a
//     month is spread over the days that are left. Source: the average daily budget of Google Ads
//     (https://support.google.com/google-ads/answer/6385083), whose months have 30.4 days, and
//     whose days cost up to twice the average. How it spreads a month is not public. An amount
//     counts for the whole month, also one that was changed within it, or is new in it: a day after
//     the change has up to cap times the amount. Only flights begin within a month.
//
// # Controllers
//
// A budget is paced by the controller that it names, see package control, and otherwise by
// control.Ratio.
//
// # Versions
//
// A version with an effective_from in the future does not end the one in force. A version replaces
// all smaller ones that begin with it or after it. Versions keeps all others, also those that are
// not in force any more: it knows no time. So an account whose documents all have an effective_from
// has one more with each of them, until one without it replaces all: see MaxVersions.
//
// # Invariants
//
//   - PACE-11: The budgets of the days of a month, or of a lifetime, if none is exceeded, are in
//     sum never above its limit. None is above the cap.
//   - PACE-12: A document is valid as a whole, or its error has every problem with the path of its
//     field. The encodings of a document, as JSON and as a record, give the same document.
//   - PACE-13: Versions does not depend on the order in which documents are added, nor on
//     repetitions. A smaller version never replaces a greater one.
//   - PACE-14: A day of a time zone begins where the day before it ends, and the budgets of a
//     campaign's arms never add up to more than its budget.
//
// # What it does not do
//
// It does not count spend, and does not pace: the caller passes what was spent. It reads no clock.
// It reads the rules of time zones as package time does: two machines with other rules may disagree
// about the begin of a day, and about which zones exist. It converts no currencies. A shared budget
// belongs to one account.
package budget
