// Package leasestatus reads what the lease loop tells people of itself: its topics of headroom, notes and duplicates, and how far
// the commands to each region are.
//
//	lease.headroom, lease.journal, lease.duplicates ─▶ Read ─▶ View ─▶ weir status, weir dedup list, weir balancer plan
//	groups of the executors ──────────────────────────▶
//
// It asks no running process: whoever reaches the brokers sees the same.
package leasestatus
