package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

// Lease is the metrics of the liberator, of dedup and of the balancer.
type Lease struct {
	liberator liberatorMetrics
	dedup     dedupMetrics
	balancer  balancerMetrics
}

// NewLease makes the metrics and registers them with r.
func NewLease(r prometheus.Registerer) *Lease {
	return &Lease{
		liberator: newLiberatorMetrics(families{"liberator", r}),
		dedup:     newDedupMetrics(families{"dedup", r}),
		balancer:  newBalancerMetrics(families{"balancer", r}),
	}
}

// Meter returns p, the processor of the liberator, of dedup or of the balancer, with handlers that
// publish their figures. regions are the balancer's, in the order of its configuration.
func (m *Lease) Meter(p stream.Processor, regions []string) stream.Processor {
	return meter(p, func(h stream.Handler, partition int32) stream.Handler {
		switch h := h.(type) {
		case *liberator.Liberator:
			return m.liberator.observe(h, partition)
		case *dedup.Dedup:
			return m.dedup.observe(h, partition)
		case *balancer.Balancer:
			return m.balancer.observe(h, partition, regions)
		}
		return h
	})
}
