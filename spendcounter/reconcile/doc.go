// Package reconcile compares a billing file with what the spend counter has counted: first the sums
// of each campaign day, then, for the campaign days that differ, event by event with the log.
//
//	billing file ── Statement.Add ─▶ sums of campaign days ─┐
//	spend of the counter ──────────── Statement.Count ──────┴─ Statement.Differences
//	                                                                     │ their campaign days
//	billing file ── Matcher.File ─┐                                      ▼
//	ads.events ──── Matcher.Log ──┴─────────────────────── Matcher.Findings ─▶ line, offset, why
//
// The sums are exact and need no log. They show which campaign days differ, not why. A Matcher is
// given the events of these campaign days from the file and from the log, and finds those that are
// in one of them only, have another price or campaign day, or are in the file more than once.
//
// # What it does not do
//
// It reads neither files nor topics. It does not compare refunds: a bill is compared with the
// charges. Findings are about the log: an event that the counter has rejected is in the log, and is
// in the dead-letter topic, too.
package reconcile
