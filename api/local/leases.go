package local

import (
	"context"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/lease/status"
	"github.com/weirhq/weir/processors/kafka"
)

// journalAge is the maximum age of a decision on a page: that of `weir status`.
const journalAge = 10 * time.Minute

// Leases implements api.LeaseSource with the topics of the lease loop.
type Leases struct{ Kafka kafka.Cluster }

// Leases implements api.LeaseSource.
func (l Leases) Leases(ctx context.Context) (page.Leases, error) {
	out := page.Leases{Since: journalAge}
	var err error
	if out.Headroom, err = status.Headroom(ctx, l.Kafka, status.Query{}); err != nil {
		return out, err
	}
	out.Journal, err = status.Notes(ctx, l.Kafka, status.Query{Since: time.Now().Add(-journalAge)})
	return out, err
}

var _ api.LeaseSource = Leases{}
