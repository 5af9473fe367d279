package liberator

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/events"
	leasecommand "github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the liberator role. With hundreds of thousands of leases, give the
// runtime a Config.CacheBytes well above its WriteBytes: the rows are in the store alone, and
// WriteBytes is a part of CacheBytes.
type ProcessorConfig struct {
	// Regions are all regions with a replica of the lease table. A region that owned resources must
	// stay in the list.
	Regions []string
	// Partitions is the number of partitions of the lease topics. Defaults to
	// events.DefaultLeasePartitions.
	Partitions int32
	// Skew is Config.Skew.
	Skew time.Duration
	// BucketRate is Config.BucketRate.
	BucketRate int
}

// Processor describes the liberator: lease.changes as input, lease-liberator.state as changelog,
// lease.commands.<region> as outputs.
func (l ProcessorConfig) Processor() (stream.Processor, error) {
	outputs, output, err := leasecommand.Outputs(l.Regions)
	if err != nil {
		return stream.Processor{}, err
	}
	cfg := Config{Output: output, Skew: l.Skew, BucketRate: l.BucketRate}
	if err := cfg.setDefaults(); err != nil {
		return stream.Processor{}, err
	}
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
		Canonical: Canonical, Tables: tables(),
		Settings: map[string]string{"the difference between clocks": cfg.Skew.String()},
	}, nil
}
