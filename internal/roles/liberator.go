package roles

import (
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors"
)

// Liberator configures the role that ends leases which are over. Its rows are in the store alone: with hundreds of thousands of
// leases give the runtime a Config.CacheBytes well above its WriteBytes, which are taken from it.
type Liberator struct {
	// Regions are all that have a copy of the table of leases. One that owned resources must stay in the list.
	Regions []string
	// Partitions of the topics of the lease loop. Defaults to events.DefaultLeasePartitions.
	Partitions int32
	// Skew: see liberator.Config.
	Skew time.Duration
	// PerShelf: see liberator.Config.
	PerShelf int
	// Metrics receives the figures. Defaults to none.
	Metrics *LeaseMetrics
}

// Processor wires the liberator: lease.changes in, lease-liberator.state as changelog, lease.commands.<region> out.
func (l Liberator) Processor() (processors.Processor, error) {
	outputs, output, err := leaseOutputs(l.Regions)
	if err != nil {
		return processors.Processor{}, err
	}
	cfg := liberator.Config{Output: output, Skew: l.Skew, PerShelf: l.PerShelf}
	return processors.Processor{
		App: events.LiberatorApp, Inputs: []string{events.LeaseChangesTopic}, Changelog: events.LeaseStateTopic(events.LiberatorApp),
		Partitions: leasePartitions(l.Partitions), Outputs: outputs,
		New: func(t processors.Task) (processors.Handler, error) {
			core, err := liberator.New(cfg, t)
			if err != nil {
				return nil, err
			}
			return l.Metrics.observeLiberator(core, t.Partition), nil
		},
		Essence: liberator.Essence,
	}, nil
}
