package events

import "github.com/cespare/xxhash/v2"

// Numbers of shards: of the partitions of every topic keyed by account, and of everything that is built on them.
const (
	DefaultShards = 24
	MaxShards     = 1024
)

// AccountHash is what spreads the accounts: the shard of one is its hash modulo the number of shards.
func AccountHash(account []byte) uint64 { return xxhash.Sum64(account) }

// Shard is the shard of an account among shards, which is at least 1, and so the partition of its records: xxHash64 of the
// id's bytes with seed 0, as an unsigned number, modulo shards. Producers in other languages must set the partition by the
// same rule; the tests hold values to check against.
func Shard(account string, shards int32) int32 {
	return int32(xxhash.Sum64String(account) % uint64(shards))
}

// ShardBytes is Shard of an id in bytes. It allocates nothing.
func ShardBytes(account []byte, shards int32) int32 {
	return int32(xxhash.Sum64(account) % uint64(shards))
}
