package bridge

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// Tick is the processors.Config.Tick for a bridge: the longest that a batch waits for a Flush.
const Tick = 100 * time.Millisecond

// Processor describes the bridges of all regions. Task p reads region Config.Regions[p]. Tasks
// beyond the regions read nothing.
func (c Config) Processor() stream.Processor {
	return stream.Processor{
		App: events.BridgeApp, Partitions: events.MaxLeaseRegions, Inputs: []string{events.LeaseBridgeTopic},
		Changelog: events.LeaseStateTopic(events.BridgeApp),
		Outputs:   stream.OutputTopics(events.LeaseChangesTopic, events.LeaseRejectedTopic, events.LeaseJournalTopic),
		New: stream.FromSource(c.QueueBytes, func(t stream.Task) (stream.Source, error) {
			if int(t.Partition) >= len(c.Regions) {
				return nil, nil //nolint:nilnil // a nil Source reads nothing
			}
			return New(c, t)
		}),
		Tables: tableInfos(), Settings: settings(c.Regions),
	}
}

// settings names the region of each partition: a process with another order would read a region
// from the position of another. A list with further regions at its end differs in none.
func settings(regions []string) map[string]string {
	all := map[string]string{}
	for p, region := range regions {
		all[fmt.Sprint("the region of partition ", p)] = region
	}
	return all
}
