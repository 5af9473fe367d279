// Package status reads the status of the lease loop from Kafka: the topics of headroom,
// journal and duplicates, and the positions of the executors.
//
//	lease.headroom, lease.journal, lease.duplicates ─▶ Read ─▶ Status ─▶ weir status, weir dedup list,
//	groups of the executors ──────────────────────────▶                  weir balancer plan
//
// It needs no running weir process, only the brokers.
package status
