// Package leaseload is a crowd of users of leases in one region, for weir dev: their number goes up and down like a day's, only
// faster.
//
//	cycle ─▶ how many arrive ─▶ GetLease of a key of their own ─▶ ends by itself | renewed once, then ends | given back early
//
// It keeps no lease longer than it is good for, and gives none back when it stops: what it had ends by itself. It is no load
// generator: eight calls at a time at most.
package leaseload
