package node

import (
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/stream"
)

func balancerRole() Role {
	return leaseProcessorRole(Role{
		Name: "balancer", Summary: "forecasts demand and transfers free resources between regions",
		// It keeps a row of every resource.
		Weight: 4, Memory: balancerMemory,
	}, balancerProcessor)
}

// balancerMemory adds the balancers that standbys keep, whose counts are small beside their rows.
func balancerMemory(c *config.Config, share int64) Allocation {
	a := coreMemory(c, share)
	if c.Processor.Standbys > 0 {
		a.Handlers = share / 16
		a.Uses = append(a.Uses,
			Use{"standby handlers", a.Handlers, "of partitions that other processes own; without room a takeover reads all rows"})
	}
	return a
}

// BalancerConfig returns the balancer's configuration by the settings leases.balancer.
func BalancerConfig(c *config.Config) balancer.Config {
	b := c.Leases.Balancer
	return balancer.Config{
		PlanInterval: b.Every, TickInterval: b.Tick,
		Limits: plan.Limits{MaxMoved: int64(b.Cap), MaxMovedShare: float64(b.CapPercent) / 100, MaxEvacuated: int64(b.Evacuate)},
	}
}

func balancerProcessor(s *Setup) (stream.Processor, error) {
	return balancer.ProcessorConfig{
		Regions: regionNames(s.Config), Partitions: int32(s.Config.Leases.Partitions), Config: BalancerConfig(s.Config),
	}.Processor()
}
