package agent

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Headroom is how many resources of a pool can be leased in a region.
type Headroom struct {
	Region string
	Free   int
	// More says that counting stopped: there are more than Free.
	More bool
	AsOf time.Time
}

// counted is up to how many of a sub-partition are counted.
const counted = 1000

// Headroom counts what is available now in the agent's region, up to 1,000 for each sub-partition of the pool. It is a
// question for people and dashboards: one request for each sub-partition. The index that it counts lags a little behind.
func (a *Agent) Headroom(ctx context.Context, client, pool string) (Headroom, error) {
	if err := check(client, pool, "-"); err != nil {
		return Headroom{}, err
	}
	p, err := a.poolOf(ctx, client, pool, &Call{})
	if err != nil {
		return Headroom{}, err
	}
	h := Headroom{Region: a.cfg.Region, AsOf: time.Now()}
	for n := range p.settings.Load().Shelves {
		q := p.available(n, h.AsOf.UnixMilli(), counted)
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
