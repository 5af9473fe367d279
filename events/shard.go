package events

import "github.com/cespare/xxhash/v2"

// Shards is the number of partitions of every topic keyed by account, and the number of shards of everything that is
// built on them. It is part of the data: changing it means moving every account's state.
const Shards = 24

// Shard is the shard of an account, 0 to 23, and so the partition of its records: xxHash64 of the id's bytes with
// seed 0, as an unsigned number, modulo 24. Producers in other languages must set the partition by the same rule; the
// tests hold values to check against.
func Shard(account string) int32 { return int32(xxhash.Sum64String(account) % Shards) }

// ShardBytes is Shard of an id in bytes. It allocates nothing.
func ShardBytes(account []byte) int32 { return int32(xxhash.Sum64(account) % Shards) }
