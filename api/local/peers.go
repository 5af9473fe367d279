package local

import (
	"context"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Peers implements api.PeerSource: it asks the brokers for the members of the group of App.
type Peers struct {
	Kafka kafka.Cluster
	App   string
}

// Peers returns one entry per process. A process is several members of the group.
func (p Peers) Peers(ctx context.Context) ([]api.Peer, error) {
	members, err := processors.Members(ctx, p.Kafka, p.App)
	if err != nil {
		return nil, err
	}
	var out []api.Peer
	for _, m := range members {
		i := slices.IndexFunc(out, func(o api.Peer) bool { return o.Instance == m.Instance })
		if i < 0 {
			i, out = len(out), append(out, api.Peer{Instance: m.Instance})
		}
		if m.Endpoint != "" {
			out[i].Endpoint = m.Endpoint
		}
		out[i].Partitions = append(out[i].Partitions, m.Partitions...)
		out[i].Standbys = append(out[i].Standbys, m.Standbys...)
	}
	return out, nil
}

var _ api.PeerSource = Peers{}
