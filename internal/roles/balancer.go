package roles

import (
	"fmt"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
)

// Balancer configures the role that moves free resources to the regions that will need them.
type Balancer struct {
	// Regions are the names of all regions.
	Regions []string
	// Partitions is the number of partitions of the topics. Defaults to events.DefaultLeasePartitions.
	Partitions int32
	// Config is how it balances. Its regions and topics are set here. Its zero value works.
	Config balancer.Config
	// Metrics receives the figures. Defaults to none.
	Metrics *LeaseMetrics
}

// Processor wires the balancer: lease.changes and lease.results in; lease.headroom, lease.journal and the commands of each
// region out.
func (r Balancer) Processor() (processors.Processor, error) {
	cfg := r.Config
	cfg.Regions, cfg.Changes, cfg.Results = r.Regions, events.LeaseChangesTopic, events.LeaseResultsTopic
	if err := cfg.Check(); err != nil {
		return processors.Processor{}, err
	}
	outputs := []string{balancer.OutputHeadroom: events.LeaseHeadroomTopic, balancer.OutputJournal: events.LeaseJournalTopic}
	for _, region := range r.Regions {
		outputs = append(outputs, events.LeaseCommandsTopic(region))
	}
	return processors.Processor{
		App: events.BalancerApp, Partitions: leasePartitions(r.Partitions), Inputs: []string{cfg.Changes, cfg.Results},
		Changelog: events.LeaseStateTopic(events.BalancerApp), Outputs: outputs,
		New: func(t processors.Task) (processors.Handler, error) {
			b, err := balancer.New(cfg, t)
			if err != nil {
				return nil, fmt.Errorf("balancer: %w", err)
			}
			return r.Metrics.observeBalancer(b, t.Partition, r.Regions), nil
		},
		Essence: balancer.Essence,
	}, nil
}
