package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Headroom is the number of free resources of a pool in a region, and the forecast.
type Headroom struct {
	Region string
	Free   int
	// AtLeast means that counting stopped at a limit: there are more than Free.
	AtLeast bool
	// AsOf is the time of the figures. Figures that do not change are written every 5 minutes.
	AsOf time.Time
	// Forecast is the balancer's forecast; nil where no balancer runs.
	Forecast *Forecast
}

// Forecast is the balancer's forecast for a pool in a region within Horizon.
type Forecast struct {
	Horizon   time.Duration
	Need      int     // expected new leases, with a margin
	Rate      float64 // expected new leases per second
	Returning int     // resources whose lease and quarantine are expected to end
	InTransit int     // resources on their way from other regions
	Refused   int     // keys that got no lease in the last minute
}

const (
	// maxCounted is the number up to which the resources of one bucket are counted.
	maxCounted = 1000
	// maxHeadroomAge is the age at which a headroom row is ignored. The balancer writes changes
	// within seconds, and an unchanged row every 5 minutes; one such write may be lost. If the
	// balancer stops, callers get old figures for this time: see Headroom.AsOf.
	maxHeadroomAge = 11 * time.Minute
)

// Headroom returns the free resources of a pool in the agent's region, and the forecast, from the
// row that the balancer writes: one request. Where no balancer runs it counts, up to 1,000
// resources for each bucket of the pool, with one request for each bucket. It is for people and
// dashboards.
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
				Horizon: time.Duration(h.HorizonMs) * time.Millisecond, Need: int(h.Need), Rate: h.Rate, Returning: int(h.Returning),
				InTransit: int(h.InTransit), Refused: int(h.Refused),
			}}, nil
		}
	}
	return a.count(ctx, p)
}

// count counts the entries of the index, which lags the table slightly.
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
		h.AtLeast = h.AtLeast || len(out.LastEvaluatedKey) > 0
	}
	return h, nil
}
