// Package leaseload simulates users of leases in one region, for weir dev and weir load. The number
// of users rises and falls in a cycle, like the traffic of a day.
//
//	cycle ─▶ arrivals ─▶ GetLease of a new key ─▶ ends at its deadline | renewed once, then ends | released early
//
// Users stop using a resource at the deadline of its lease. When the load stops, it releases no
// lease: each ends at its deadline. The package does not measure throughput: it makes at most eight
// calls at the same time.
package leaseload
