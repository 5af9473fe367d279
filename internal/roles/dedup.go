package roles

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
)

// Dedup configures the role that decides between regions which lease one key. Of the runtime's Config.CacheBytes the same is
// true as for Liberator.
type Dedup struct {
	// Regions are all that have a copy of the table of leases.
	Regions []string
	// Partitions of the topics of the lease loop. Defaults to events.DefaultLeasePartitions.
	Partitions int32
	// Skew: see dedup.Config.
	Skew time.Duration
	// Metrics receives the figures. Defaults to none.
	Metrics *LeaseMetrics
}

// Processor wires dedup: lease.changes in, lease-dedup.state as changelog, lease.duplicates, lease.journal and
// lease.commands.<region> out.
func (d Dedup) Processor() (processors.Processor, error) {
	first := make([]string, 2)
	first[dedup.OutputDuplicates], first[dedup.OutputJournal] = events.LeaseDuplicatesTopic, events.LeaseJournalTopic
	outputs, output, err := leaseOutputs(d.Regions, first...)
	if err != nil {
		return processors.Processor{}, err
	}
	cfg := dedup.Config{Output: output, Skew: d.Skew}
	return processors.Processor{
		App: events.DedupApp, Inputs: []string{events.LeaseChangesTopic}, Changelog: events.LeaseStateTopic(events.DedupApp),
		Partitions: leasePartitions(d.Partitions), Outputs: outputs,
		New: func(t processors.Task) (processors.Handler, error) {
			core, err := dedup.New(cfg, t)
			if err != nil {
				return nil, err
			}
			return d.Metrics.observeDedup(core, t.Partition), nil
		},
		Essence: dedup.Essence,
	}, nil
}

func leasePartitions(n int32) int32 { return cmp.Or(n, events.DefaultLeasePartitions) }
