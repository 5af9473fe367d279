package node

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
)

// Readiness is whether a role of this process can serve.
type Readiness = local.Readiness

// ready is api.Config.Ready: whether all roles can serve.
func (n *Node) ready(ctx context.Context) api.Readiness {
	var parts []Readiness
	for _, p := range n.parts {
		parts = append(parts, p.Ready(ctx))
	}
	return local.ProcessReadiness(parts)
}

// waiting is api.Config.Waiting: why supervised roles, or parts of their work, wait.
func (n *Node) waiting() (list []string) {
	for _, p := range n.parts {
		switch p.Part.(type) {
		case *supervisor, *pushPart:
			if why := p.Ready(context.Background()).Waiting; why != "" {
				list = append(list, why)
			}
		}
	}
	return list
}

// Owned returns the number of partitions that this process has, of all roles.
func (n *Node) Owned(ctx context.Context) (count int) {
	for _, p := range n.parts {
		count += p.Ready(ctx).Partitions
	}
	return count
}
