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

// BenchJobsConfig returns the settings of the runtime of job queues in a process that has memory
// bytes, the default configuration, and no other role. It logs nothing.
func BenchJobsConfig(memory int64) processors.Config {
	c := config.Default()
	c.Memory = config.Bytes(memory)
	log := zerolog.Nop()
	p := processorConfig(c, kafka.Cluster{}, &log, jobsMemory(c, memory))
	p.BallastBytes = leaseBallast
	return p
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
