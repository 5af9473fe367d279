// Package outage says when something that fails again and again is worth a line in the log: once when it begins, once every so
// often with how many failures there were, and once when it is over.
//
//	failures    x x xxxxxxxxxxxxxxxxxxxxxxxxx     x
//	lines         begins        goes on      over         (a failure that does not last is none)
//
// It writes nothing: who logs has a name for each event, and its own fields.
package outage
