package dedup

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the dedup role. With hundreds of thousands of leases, give the runtime
// a Config.CacheBytes well above its WriteBytes: the rows are in the store alone.
type ProcessorConfig struct {
	// Regions are all regions with a replica of the lease table.
	Regions []string
	// Partitions is the number of partitions of the lease topics. Defaults to
	// events.DefaultLeasePartitions.
	Partitions int32
	// Skew is Config.Skew.
	Skew time.Duration
}

// Processor describes dedup: lease.changes as input; lease-dedup.state as changelog;
// lease.duplicates, lease.journal and lease.commands.<region> as outputs.
func (d ProcessorConfig) Processor() (stream.Processor, error) {
	outputs, output, err := command.Outputs(d.Regions, events.LeaseDuplicatesTopic, events.LeaseJournalTopic)
	if err != nil {
		return stream.Processor{}, err
	}
	cfg := Config{Output: output, Skew: d.Skew}
	if err := cfg.setDefaults(); err != nil {
		return stream.Processor{}, err
	}
	return stream.Processor{
		App: events.DedupApp, Inputs: []string{events.LeaseChangesTopic}, Changelog: events.LeaseStateTopic(events.DedupApp),
		Partitions: cmp.Or(d.Partitions, events.DefaultLeasePartitions), Outputs: outputs,
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
