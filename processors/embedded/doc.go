// Package embedded is the Kafka of `weir dev`: franz-go's fake cluster, one broker on a loopback port, with the topics of
// the catalogue, in memory or in a directory.
//
//	Start ──▶ Broker{Addrs} ◀── any Kafka client on this machine
//
// It speaks the protocol with transactions (transaction.version 2), groups, compaction and retention. It is for one
// machine and for development: no replication, one run loop, and its log is only as safe as the disk that holds it.
package embedded
