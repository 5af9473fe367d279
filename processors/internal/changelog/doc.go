// Package changelog reads a changelog partition and applies it to the store: for a restore, for a standby, for a replay.
//
//	Reader ─▶ records ─▶ Applier ─▶ store      up to a barrier, or without an end
//	brokers ─▶ BrokerState: where the changelog and the inputs begin, what the group has committed
//
// An Applier takes a transaction whole: rows and the marker that ends them. What it has applied is consistent at each marker.
package changelog
