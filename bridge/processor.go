package bridge

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// Tick is the Config.Tick that the bridge's runtime needs: what was read from a stream waits for the next Flush.
const Tick = 100 * time.Millisecond

// Processor wires the bridge: a task is a region; lease.bridge in, lease.changes, lease.rejected and lease.journal out.
func (c Config) Processor() stream.Processor {
	return stream.Processor{
		App: events.BridgeApp, Partitions: events.MaxLeaseRegions, Inputs: []string{events.LeaseBridgeTopic},
		Changelog: events.LeaseStateTopic(events.BridgeApp), Outputs: Outputs(),
		New: func(t stream.Task) (stream.Handler, error) {
			if int(t.Partition) >= len(c.Regions) {
				return unassigned{}, nil
			}
			b, err := New(c, t)
			if err != nil {
				return nil, fmt.Errorf("bridge: %w", err)
			}
			return b, nil
		},
	}
}

// unassigned is the handler of a partition that no region has yet.
type unassigned struct{}

// Fold implements stream.Handler.
func (unassigned) Fold(b *stream.Batch) error {
	for i := range b.Records {
		b.Reject(i, "no_region", "leases.regions has no region in this place")
	}
	return nil
}

// Flush implements stream.Handler.
func (unassigned) Flush(stream.Commit, *stream.Changes) error { return nil }
