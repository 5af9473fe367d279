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

// Replica is how a region's copy of the table is, as that region says.
type Replica struct {
	Region    string
	Table     string        // its status, such as ACTIVE; empty: there is none
	Stream    bool          // it is on, with new and old images
	Index     string        // status of the index of what is available; empty: there is none
	Took      time.Duration // of an answer
	Clock     error         // ErrClock: ours is off, or DynamoDB's
	Writer    string        // the region through which the region's settings were written last; empty: it has none
	Heartbeat time.Time     // when its bridge gave the last sign of life; zero: never
}

// Replica looks at a region's copy of the table. It changes nothing. The error says that the region cannot be asked.
func (a *Admin) Replica(ctx context.Context, region string) (r Replica, err error) {
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
	beat, err := get(lease.HeartbeatRow(region))
	if err != nil || len(beat) == 0 {
		return r, err
	}
	ms, err := table.Number(beat, table.HeartbeatMs)
	if err != nil {
		return r, fmt.Errorf("%w: beat of region %s: %w", table.ErrTable, region, err)
	}
	r.Heartbeat = time.UnixMilli(ms)
	return r, nil
}
