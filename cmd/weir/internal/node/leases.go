package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// leaseGroup is the group of the lease loop's roles.
func leaseGroup() Group {
	return Group{
		Name: "leases", Summary: "all roles of the lease loop",
		Partitions:  "leases.partitions",
		Repartition: "set leases.partitions to the number of the state, which the plan shows, or create new topics",
	}
}

// leaseRole completes the entry of a role of the lease loop: group, topics, check.
func leaseRole(r Role) Role {
	r.Group, r.Dev, r.LeaseTable = leaseGroup(), true, true
	r.Topics, r.Check = leaseTopics, checkRegion
	return r
}

// leaseTopics returns the topics of the lease loop.
func leaseTopics(c *config.Config) []stream.Topic {
	return events.LeaseCatalog(regionNames(c), int32(c.Leases.Partitions))
}

// regionNames returns the names of leases.regions.
func regionNames(c *config.Config) []string {
	names, _ := c.Leases.RegionEndpoints()
	return names
}

// checkRegion returns an error if leases.region is not one of leases.regions.
func checkRegion(c *config.Config) error {
	regions := regionNames(c)
	if c.Leases.Region != "" && !slices.Contains(regions, c.Leases.Region) {
		return fmt.Errorf("leases.region %s is not one of leases.regions: %s", c.Leases.Region, strings.Join(regions, ", "))
	}
	return nil
}

// leaseWorkers is the number of workers of a processor of the lease loop: it reads a thousandth of
// the spend counter's records.
func leaseWorkers(c *config.Config) int { return max(1, c.Processor.Workers/4) }

// coreMemory is the memory of liberator, dedup and balancer: most of it is block cache.
func coreMemory(c *config.Config, share int64) Allocation {
	return runtimeAllocation(c, share, leaseWorkers(c), share/8+share/4)
}

// leaseBallast is the size of the file that a runtime of the lease loop removes when the disk is
// full.
const leaseBallast = 16 << 20

// leaseProcessorRole is leaseRole for a role with one processor, which proc returns.
func leaseProcessorRole(r Role, proc func(*Setup) (stream.Processor, error)) Role {
	r.Settings = []string{"leases.regions"}
	described := func(c *config.Config) (stream.Processor, error) { // a description needs no connection
		return proc(&Setup{Config: c, Table: &LeaseTable{}, Registry: obs.NewRegistry("")})
	}
	r.ACLs = func(c *config.Config) ([]string, error) {
		p, err := described(c)
		return kafkaadmin.ACLs(p), err
	}
	// A replay would not give the same state: timers go by the time of day, and the bridge reads
	// DynamoDB.
	r.Apps = func(c *config.Config) ([]App, error) { return processorApp(described(c)) }
	r.New = func(s *Setup) (Part, error) {
		p, err := proc(s)
		if err != nil {
			return nil, err
		}
		part, err := s.processor(s.LeaseMetrics().Meter(p, regionNames(s.Config)), nil, func(pc *processors.Config) {
			pc.Tick, pc.BallastBytes = bridge.Tick, leaseBallast
		})
		if err != nil {
			return nil, err
		}
		s.API.Leases = local.Leases{Kafka: s.Kafka}
		return part, nil
	}
	return leaseRole(r)
}
