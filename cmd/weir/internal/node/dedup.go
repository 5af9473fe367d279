package node

import (
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/stream"
)

func dedupRole() Role {
	return leaseProcessorRole(Role{
		Name: "dedup", Summary: "selects one lease where two regions leased one key",
		Weight: 2, Memory: coreMemory,
	}, dedupProcessor)
}

func dedupProcessor(s *Setup) (stream.Processor, error) {
	l := s.Config.Leases
	return dedup.ProcessorConfig{Regions: regionNames(s.Config), Partitions: int32(l.Partitions), Skew: l.Skew}.Processor()
}
