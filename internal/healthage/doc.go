// Package healthage computes the age of the health row of a dataset, by the clock of the reader.
//
// A spend counter stamps its health row once a second with its own clock, which may be wrong, and
// the row may arrive late. A reader observes the row that a dataset has, and how far it has read:
//
//	row := healthage.Row{Copied: true}
//	row.Observe(now, health, (*healthage.Row).AgeOf) // once a second
//	row.ReadTo(end)                                  // then: when the log was read to its end
//	age := row.Age(now)
//
// The section Age of package spendcache has the rule and its limits. The package reads no clock. A
// Row must not be used by several goroutines at once.
package healthage
