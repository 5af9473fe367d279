package node

import (
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/stream"
)

func balancerRole() Role {
	return leaseProcessorRole(Role{
		Name: "balancer", Summary: "forecasts demand and transfers free resources between regions",
		// It keeps a row of every resource.
		Weight: 4, Memory: coreMemory,
	}, balancerProcessor)
}

// BalancerConfig returns the balancer's configuration by the settings leases.balancer.
func BalancerConfig(c *config.Config) balancer.Config {
	b := c.Leases.Balancer
	return balancer.Config{
		PlanInterval: b.Every, TickInterval: b.Tick,
		Limits: balancer.Limits{MaxMoved: int64(b.Cap), MaxMovedShare: float64(b.CapPercent) / 100, MaxEvacuated: int64(b.Evacuate)},
	}
}

func balancerProcessor(s *Setup) (stream.Processor, error) {
	return balancer.ProcessorConfig{
		Regions: regionNames(s.Config), Partitions: int32(s.Config.Leases.Partitions), Config: BalancerConfig(s.Config),
	}.Processor()
}
