package local

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
)

// ClusterInfo implements api.ClusterSource.
type ClusterInfo struct {
	Kafka   kafka.Cluster
	Version string
	// DC, Layout and DCs are those of the spend counter, for producers and commands. DCs are
	// NAME=host:port+host:port. Empty without a spend counter.
	DC     string
	Layout *events.Layout
	DCs    []string
	// Leases are the settings of the lease table; nil without a table.
	Leases *weirpb.LeaseSettings
}

// Cluster implements api.ClusterSource.
func (v *ClusterInfo) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	res := &weirpb.GetClusterResponse{Brokers: v.Kafka.Brokers, Dc: v.DC, Version: v.Version, Leases: v.Leases}
	if v.Layout != nil {
		res.EventsTopic, res.AdjustmentsTopic = v.Layout.Name(events.EventsTopic), v.Layout.Name(events.AdjustmentsTopic)
		res.Partitions, res.Generation, res.Dcs = v.Layout.Partitions(), int32(v.Layout.Generation), v.DCs
	}
	return res, nil
}

var _ api.ClusterSource = (*ClusterInfo)(nil)
