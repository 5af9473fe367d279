package main

import (
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
)

// benchConfig is how a spend counter runs that has so many bytes of memory, with the default settings.
func benchConfig(memory int64) processors.Config {
	c := config.Default()
	c.Memory = config.Bytes(memory)
	s := spendAlone(c)
	return processors.Config{CacheBytes: s.cache, WriteBytes: s.writes, FetchBytes: int32(s.fetch), CommitBytes: int(s.changes)}
}
