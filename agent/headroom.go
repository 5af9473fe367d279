package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Headroom is how many resources of a pool can be leased in a region.
type Headroom struct {
	Region string
	Free   int
	// More says that counting stopped: there are more than Free.
	More bool
	// AsOf is when it was so. What did not change since may be some minutes old.
	AsOf time.Time
	// Forecast is what the balancer expects; nil where none runs.
	Forecast *Forecast
}

// Forecast is what is expected of a pool in a region within Horizon.
type Forecast struct {
	Horizon   time.Duration
	Need      int     // new leases, with a margin
	Rate      float64 // new leases a second that are wanted
	Returning int     // resources that become available: leases and quarantines that end
	InTransit int     // resources on their way from other regions
	Refused   int     // keys that got no lease in the last minute
}

const (
	// maxCounted is up to how many of a sub-partition are counted.
	maxCounted = 1000
	// maxHeadroomAge is how old what the balancer says may be. It writes what changed within seconds, and what did not every 5 min:
	// one of those may be lost, or late, without that all agents count. If it stops, figures stay for that long: see Headroom.AsOf.
	maxHeadroomAge = 11 * time.Minute
)

// Headroom says what is available in the agent's region, and what is expected: as the balancer last wrote it, which it does within
// seconds of a change, by one request. Where no balancer runs it counts, up to 1,000 for each sub-partition of the pool, by one request for each: that
// is for people and dashboards.
func (a *Agent) Headroom(ctx context.Context, client, pool string) (Headroom, error) {
	if err := check(client, pool, "-"); err != nil {
		return Headroom{}, err
	}
	p, err := a.poolOf(ctx, client, pool, &Call{})
	if err != nil {
		return Headroom{}, err
	}
	item, err := a.table.Get(ctx, a.cfg.Region, lease.HeadroomRow(client, pool, a.cfg.Region))
	if err != nil {
		return Headroom{}, err
	}
	if item != nil {
		h, err := table.HeadroomOf(item)
		if err != nil {
			return Headroom{}, fmt.Errorf("%w: headroom of pool %s: %w", ErrTable, pool, err)
		}
		if at := time.UnixMilli(h.AsOfMs); time.Since(at) < maxHeadroomAge {
			return Headroom{Region: a.cfg.Region, Free: int(h.Free), AsOf: at, Forecast: &Forecast{
				Horizon: time.Duration(h.HorizonMs) * time.Millisecond, Need: int(h.Need), Rate: h.Rate, Returning: int(h.Returning), InTransit: int(h.InTransit), Refused: int(h.Refused),
			}}, nil
		}
	}
	return a.count(ctx, p)
}

// count counts what the index shows, which lags a little behind.
func (a *Agent) count(ctx context.Context, p *pool) (Headroom, error) {
	h := Headroom{Region: a.cfg.Region, AsOf: time.Now()}
	for n := range p.settings.Load().Buckets {
		q := p.available(n, h.AsOf.UnixMilli(), maxCounted)
		q.Select = types.SelectCount
		out, err := a.table.Page(ctx, a.cfg.Region, q)
		if err != nil {
			return Headroom{}, err
		}
		h.Free += int(out.Count)
		h.More = h.More || len(out.LastEvaluatedKey) > 0
	}
	return h, nil
}
