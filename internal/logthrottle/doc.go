// Package logthrottle decides which of many repeated failures deserve a log line: one when an
// outage begins, one per minute while it continues, and one when it ends.
//
//	failures  x x xxxxxxxxxxxxxxxxxxxxxxxxxxxx        x
//	events      Begin       Continue       End        none: the failure is too short
//
// Invariants:
//
//  1. An outage begins after two seconds of failures, so that a failure that a retry repairs gives
//     no event.
//  2. Begin and End alternate, except that an outage has no End if neither a failure nor a
//     success follows for three minutes. Two outages begin at least ten seconds apart.
//  3. Continue follows the last event of its outage after a minute at the earliest.
//
// The package does not log and reads no clock: the caller writes the line, with its own event name
// and fields.
package logthrottle
