// Package leasedemo is a user of leases, for weir dev: some keys that get, renew and give back leases at a settable rate.
//
//	every 1/Rate: one of Keys, drawn ─▶ holds nothing: GetLease; else Renew or Release, as likely ─▶ Stats
//
// It keeps no lease longer than it is good for, and what it did not release when it ends it leaves to the next that uses the
// same keys. It is no load generator: one call at a time.
package leasedemo
