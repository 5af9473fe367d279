package roles

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
)

// BridgeTick is the Config.Tick that the bridge's runtime needs: what was read from a stream waits for the next Flush.
const BridgeTick = 100 * time.Millisecond

// Bridge configures the bridge's role: the streams of the table's regions into lease.changes.
type Bridge struct {
	// Bridge is how each region is bridged. Its Regions are the order of the partitions of events.LeaseBridgeTopic.
	Bridge bridge.Config
}

// Processor wires the bridge: a task is a region; lease.bridge in, lease.changes, lease.rejected and lease.journal out.
func (r Bridge) Processor() processors.Processor {
	return processors.Processor{
		App: events.BridgeApp, Partitions: int32(len(r.Bridge.Regions)), Inputs: []string{events.LeaseBridgeTopic},
		Changelog: events.LeaseStateTopic(events.BridgeApp), Outputs: bridge.Outputs(),
		New: func(t processors.Task) (processors.Handler, error) {
			b, err := bridge.New(r.Bridge, t)
			if err != nil {
				return nil, fmt.Errorf("bridge: %w", err)
			}
			return b, nil
		},
	}
}
