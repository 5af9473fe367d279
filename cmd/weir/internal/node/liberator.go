package node

import (
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

func liberatorRole() Role {
	return leaseProcessorRole(Role{
		Name: "liberator", Summary: "releases the resources of ended leases",
		Weight: 2, Memory: coreMemory,
	}, liberatorProcessor)
}

func liberatorProcessor(s *Setup) (stream.Processor, error) {
	l := s.Config.Leases
	return liberator.ProcessorConfig{
		Regions: regionNames(s.Config), Partitions: int32(l.Partitions), Skew: l.Skew, BucketRate: l.Liberator.Rate,
	}.Processor()
}
