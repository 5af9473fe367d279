package node

import (
	"cmp"
	"fmt"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/stream"
)

func bridgeRole() Role {
	return leaseProcessorRole(Role{
		Name: "bridge", Summary: "copies the DynamoDB stream of each region to Kafka",
		Weight: 1, Memory: bridgeMemory,
	}, bridgeProcessor)
}

// maxQueueBytes bounds the queue of one bridge.
const maxQueueBytes = 4 << 20

// queueBytes is the size of the queue of one bridge, of the role's share.
func queueBytes(c *config.Config, share int64) int64 {
	return min(maxQueueBytes, share/4/int64(len(regionNames(c))))
}

func bridgeMemory(c *config.Config, share int64) Allocation {
	a := runtimeAllocation(c, share, leaseWorkers(c), share/8)
	regions := int64(len(regionNames(c)))
	a.Uses = append(a.Uses, Use{
		"streams", queueBytes(c, share) * regions,
		fmt.Sprintf("records read from the streams of %d regions that are not in Kafka yet", regions),
	})
	return a
}

func bridgeProcessor(s *Setup) (stream.Processor, error) {
	l := s.Config.Leases
	return bridge.Config{
		Regions: regionNames(s.Config), Table: l.Table, DB: s.Table.connection.Client, Streams: s.Table.connection.Streams,
		Partitions: int32(l.Partitions), Timeout: l.Bridge.Timeout, ScanRate: l.Bridge.ScanRate, SweepInterval: cmp.Or(l.Bridge.Sweep, -1),
		PollMin: s.StreamPoll, PollMax: 2 * s.StreamPoll, QueueBytes: int(queueBytes(s.Config, s.Memory.Share)),
		Metrics: bridge.NewMetrics(s.Registry), Log: &s.Log,
	}.Processor(), nil
}
