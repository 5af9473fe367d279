package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// ReplicaStatus is the state of a region's replica of the table, as that region reports it.
type ReplicaStatus struct {
	Region    string
	Table     string        // status, such as ACTIVE; empty: there is no table
	Stream    bool          // the stream is on, with new and old images
	Index     string        // status of the index "available"; empty: there is no index
	Took      time.Duration // duration of a request
	Clock     error         // ErrClock if the clocks differ too much
	Writer    string        // region through which the region's settings were written last; empty: no settings
	Heartbeat time.Time     // last heartbeat of its bridge; zero: none yet
}

// Replica reads the state of a region's replica. The error means that the region does not answer.
func (a *Admin) Replica(ctx context.Context, region string) (r ReplicaStatus, err error) {
	r.Region = region
	t, err := a.describe(ctx, region)
	if err != nil || t == nil {
		return r, err
	}
	r.Table = string(t.TableStatus)
	s := t.StreamSpecification
	r.Stream = s != nil && s.StreamEnabled != nil && *s.StreamEnabled && s.StreamViewType == types.StreamViewTypeNewAndOldImages
	if i := index(t); i != nil {
		r.Index = string(i.IndexStatus)
	}
	get := func(p lease.PrimaryKey) (table.Item, error) {
		begun := time.Now()
		item, err := a.table.Get(ctx, region, p)
		if r.Took = time.Since(begun); errors.Is(err, table.ErrClock) {
			r.Clock, err = err, nil
		}
		return item, err
	}
	settings, err := get(lease.RegionRow(region))
	if err != nil {
		return r, err
	}
	r.Writer = table.Text(settings, table.WriterRegion)
	heartbeat, err := get(lease.HeartbeatRow(region))
	if err != nil || len(heartbeat) == 0 {
		return r, err
	}
	ms, err := table.Number(heartbeat, table.HeartbeatMs)
	if err != nil {
		return r, fmt.Errorf("%w: heartbeat of region %s: %w", table.ErrTable, region, err)
	}
	r.Heartbeat = time.UnixMilli(ms)
	return r, nil
}
