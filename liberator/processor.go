package liberator

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/events"
	leasecommand "github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the role that ends leases which are over. Its rows are in the store alone: with hundreds of thousands of
// leases give the runtime a Config.CacheBytes well above its WriteBytes, which are taken from it.
type ProcessorConfig struct {
	// Regions are all that have a copy of the table of leases. One that owned resources must stay in the list.
	Regions []string
	// Partitions of the topics of the lease loop. Defaults to events.DefaultLeasePartitions.
	Partitions int32
	// Skew: see Config.
	Skew time.Duration
	// BucketRate: see Config.
	BucketRate int
}

// Processor wires the liberator: lease.changes in, lease-liberator.state as changelog, lease.commands.<region> out.
func (l ProcessorConfig) Processor() (stream.Processor, error) {
	outputs, output, err := leasecommand.Outputs(l.Regions)
	if err != nil {
		return stream.Processor{}, err
	}
	cfg := Config{Output: output, Skew: l.Skew, BucketRate: l.BucketRate}
	return stream.Processor{
		App: events.LiberatorApp, Inputs: []string{events.LeaseChangesTopic}, Changelog: events.LeaseStateTopic(events.LiberatorApp),
		Partitions: cmp.Or(l.Partitions, events.DefaultLeasePartitions), Outputs: outputs,
		New: func(t stream.Task) (stream.Handler, error) {
			core, err := New(cfg, t)
			if err != nil {
				return nil, err
			}
			return core, nil
		},
		Canonical: Canonical,
	}, nil
}
