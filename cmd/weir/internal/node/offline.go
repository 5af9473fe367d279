package node

import (
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// BenchConfig returns the memory settings of a spend counter's runtime in a process that has
// memory bytes and the default configuration.
func BenchConfig(memory int64) processors.Config {
	c := config.Default()
	c.Memory = config.Bytes(memory)
	a := soleSpendCounter(c)
	return processors.Config{CacheBytes: a.Cache, MemtableBytes: a.WriteBuffers, FetchBytes: int32(a.Fetch), CommitBytes: int(a.Changes)}
}

// OfflineConfig returns the configuration of a runtime for offline commands. It logs nothing.
func OfflineConfig(c *config.Config, k kafka.Cluster) processors.Config {
	log := zerolog.Nop()
	return processorConfig(c, k, &log, soleSpendCounter(c))
}

// OfflineSpendCounter returns the spend counter of a process that runs nothing else.
func OfflineSpendCounter(c *config.Config) spendcounter.ProcessorConfig {
	return countingConfig(c, soleSpendCounter(c))
}

// soleSpendCounter is the memory of the spend counter in a process that runs nothing else.
func soleSpendCounter(c *config.Config) Allocation { return spendMemory(c, int64(c.Memory)) }
