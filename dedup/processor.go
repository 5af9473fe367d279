package dedup

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the role that decides between regions which lease one key. Of the runtime's Config.CacheBytes the same is
// true as for Liberator.
type ProcessorConfig struct {
	// Regions are all that have a copy of the table of leases.
	Regions []string
	// Partitions of the topics of the lease loop. Defaults to events.DefaultLeasePartitions.
	Partitions int32
	// Skew: see dedup.Config.
	Skew time.Duration
}

// Processor wires dedup: lease.changes in, lease-dedup.state as changelog, lease.duplicates, lease.journal and
// lease.commands.<region> out.
func (d ProcessorConfig) Processor() (stream.Processor, error) {
	outputs, output, err := command.Outputs(d.Regions, events.LeaseDuplicatesTopic, events.LeaseJournalTopic)
	if err != nil {
		return stream.Processor{}, err
	}
	cfg := Config{Output: output, Skew: d.Skew}
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
		Canonical: Canonical,
	}, nil
}
