// Package alert has the alerts of budgets for people and programs: as a sentence, and as a JSON
// document.
//
//	pacing.alerts ─▶ Document ─▶ text, JSON, body of a request to a webhook
//
// The role pacing writes an alert when 50, 80 and 100 % of a budget of a day are spent, and when
// the budget is expected to run out early: package pacing/pack has the rules. `weir pacing notify`
// sends alerts to a webhook.
package alert
