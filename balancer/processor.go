package balancer

import (
	"cmp"
	"fmt"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the balancer role.
type ProcessorConfig struct {
	// Regions are the names of all regions.
	Regions []string
	// Partitions is the number of partitions of the lease topics. Defaults to
	// events.DefaultLeasePartitions.
	Partitions int32
	// Config configures the balancing. Regions and topics are set by Processor. The zero value
	// works.
	Config Config
}

// Processor describes the balancer: lease.changes and lease.results as inputs; lease-balancer.state
// as changelog; lease.headroom, lease.journal and lease.commands.<region> as outputs.
func (r ProcessorConfig) Processor() (stream.Processor, error) {
	cfg := r.Config
	cfg.Regions, cfg.Changes, cfg.Results = r.Regions, events.LeaseChangesTopic, events.LeaseResultsTopic
	if err := cfg.Check(); err != nil {
		return stream.Processor{}, err
	}
	outputs := []string{events.LeaseHeadroomTopic, events.LeaseJournalTopic}
	for _, region := range r.Regions {
		outputs = append(outputs, events.LeaseCommandsTopic(region))
	}
	return stream.Processor{
		App: events.BalancerApp, Partitions: cmp.Or(r.Partitions, events.DefaultLeasePartitions),
		Inputs:    []string{cfg.Changes, cfg.Results},
		Changelog: events.LeaseStateTopic(events.BalancerApp), Outputs: stream.OutputTopics(outputs...),
		New: func(t stream.Task) (stream.Handler, error) {
			b, err := New(cfg, t)
			if err != nil {
				return nil, fmt.Errorf("balancer: %w", err)
			}
			return b, nil
		},
		WarmStandbys: true, Canonical: Canonical, Tables: tables(),
	}, nil
}
