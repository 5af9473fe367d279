package events

import "github.com/cespare/xxhash/v2"

// Numbers of shards. A shard is a partition of every topic that is keyed by account.
const (
	DefaultShards = 24
	MaxShards     = 1024
)

// AccountHash returns the hash that spreads the accounts: the shard of an account is this hash
// modulo the number of shards.
func AccountHash(account []byte) uint64 { return xxhash.Sum64(account) }

// Shard returns the shard of an account, which is the partition of the account's records: xxHash64
// of the id's bytes with seed 0, as an unsigned number, modulo shards. shards must be at least 1.
// Producers in other languages must set the partition by the same rule; TestShardGolden holds
// values to compare with.
func Shard(account string, shards int32) int32 {
	return int32(xxhash.Sum64String(account) % uint64(shards))
}

// ShardBytes is Shard for an account id in bytes. It allocates nothing.
func ShardBytes(account []byte, shards int32) int32 {
	return int32(xxhash.Sum64(account) % uint64(shards))
}
