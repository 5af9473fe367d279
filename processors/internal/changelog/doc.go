// Package changelog reads a changelog partition and applies it to the store, for restores, standbys
// and replays.
//
//	Reader ─▶ records ─▶ Applier ─▶ store      up to a barrier, or without an end
//	brokers ─▶ BrokerState: start offsets of the changelog and the inputs, offsets of the group
//
// An Applier applies whole transactions: rows and the marker that ends them. The store is
// consistent at each marker.
package changelog
