package node

import (
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// BenchConfig is how a spend counter runs that has so many bytes of memory, with the default settings.
func BenchConfig(memory int64) processors.Config {
	c := config.Default()
	c.Memory = config.Bytes(memory)
	s := spendAlone(c)
	return processors.Config{CacheBytes: s.cache, MemtableBytes: s.writes, FetchBytes: int32(s.fetch), CommitBytes: int(s.changes)}
}

// OfflineConfig is a configuration of the runtime for commands, that log nothing.
func OfflineConfig(cfg *config.Config, k kafka.Cluster) processors.Config {
	log := zerolog.Nop()
	return processorConfig(cfg, k, &log, spendAlone(cfg))
}

// SoleSpendRole is the role of a process that does nothing else.
func SoleSpendRole(c *config.Config) spendcounter.ProcessorConfig {
	return sizedSpendRole(c, spendAlone(c))
}

// spendAlone is what the spend counter has in a process that does nothing else.
func spendAlone(c *config.Config) allocation { return NewBudget(c, []string{RoleSpend}).of(RoleSpend) }
