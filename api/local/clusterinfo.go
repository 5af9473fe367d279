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
	// DC and Layout are those of the spend counter, for producers. Empty without one.
	DC     string
	Layout *events.Layout
	// LeaseRegions are the regions of the lease table, NAME or NAME=URL; none without a table.
	LeaseRegions []string
}

// Cluster implements api.ClusterSource.
func (v *ClusterInfo) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	res := &weirpb.GetClusterResponse{Brokers: v.Kafka.Brokers, Dc: v.DC, Version: v.Version, LeaseRegions: v.LeaseRegions}
	if v.Layout != nil {
		res.EventsTopic, res.AdjustmentsTopic = v.Layout.Name(events.EventsTopic), v.Layout.Name(events.AdjustmentsTopic)
		res.Partitions = v.Layout.Partitions()
	}
	return res, nil
}

var _ api.ClusterSource = (*ClusterInfo)(nil)
