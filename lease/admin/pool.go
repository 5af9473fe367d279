package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Pool holds the settings of a pool. Create replaces zero values by defaults.
type Pool struct {
	Client string `json:"client"`
	Pool   string `json:"pool"`
	// LongestLease is the maximum lease term; longer requests are clamped. Defaults to 1 h.
	LongestLease Duration `json:"longest_lease"`
	// LongestEver is the greatest LongestLease that the pool ever had. A lost region may not know
	// that LongestLease was lowered, so an adoption waits for LongestEver. It never decreases.
	LongestEver Duration `json:"longest_ever" table:"wide"`
	// Quarantine is the time after a lease's end in which no other key gets the resource. Defaults
	// to 10 s.
	Quarantine Duration `json:"quarantine"`
	// Buckets is the number of index partitions for each region: one for each 10,000 resources or
	// 1,000 new leases per second. It can only grow. Defaults to 10.
	Buckets int `json:"sub_partitions"`
	// Floors are the free resources that a region keeps, by region. Defaults to none.
	Floors map[string]int64 `json:"floors" table:"wide"`
	// Balance is on or off: whether the balancer transfers free resources. Defaults to on.
	Balance string `json:"balance" table:"wide"`
	// Duplicates is what dedup does with a key that two regions lease: observe, supersede the later
	// lease, or also release its resource. Defaults to supersede.
	Duplicates string `json:"duplicates" table:"wide"`
	// Forecast is the forecast method: ewma, holt, seasonal, or auto for the one with the smallest
	// recent error. Defaults to auto.
	Forecast string `json:"forecast" table:"wide"`
	StoredRow
}

// String returns the pool for messages.
func (p *Pool) String() string { return fmt.Sprintf("pool %q of client %q", p.Pool, p.Client) }

func (p *Pool) primary() lease.PrimaryKey { return lease.PoolRow(p.Client, p.Pool) }

// Upper limits of a pool's settings.
const (
	maxLease   = 365 * 24 * time.Hour
	maxBuckets = 1000
)

func (p *Pool) check() error {
	p.LongestLease = cmp.Or(p.LongestLease, Duration(time.Hour))
	p.Quarantine = cmp.Or(p.Quarantine, Duration(10*time.Second))
	p.Buckets = cmp.Or(p.Buckets, 10)
	p.LongestEver = max(p.LongestEver, p.LongestLease)
	err := errors.Join(
		lease.CheckLease(p.Client, p.Pool, "-"), checkDescription(p.Description), checkEnum("balance", &p.Balance, table.BalanceModes()),
		checkEnum("duplicates", &p.Duplicates, table.DuplicateModes()), checkEnum("forecast", &p.Forecast, table.Forecasts()),
	)
	for region, n := range p.Floors {
		if n < 0 || n > table.MaxFloor {
			err = errors.Join(err, fmt.Errorf("the floor of %s is %d: set 0 to %d", region, n, table.MaxFloor))
		}
	}
	switch {
	case err != nil:
		return err
	case p.LongestLease < 0 || p.LongestLease > Duration(maxLease):
		return fmt.Errorf("the longest lease is %v: set more than 0 and at most %v", p.LongestLease, maxLease)
	case p.LongestEver > Duration(maxLease):
		return fmt.Errorf("LongestEver is %v: set at most %v", p.LongestEver, maxLease)
	case p.Quarantine < 0 || p.Quarantine > Duration(maxLease):
		return fmt.Errorf("the quarantine is %v: set more than 0 and at most %v", p.Quarantine, maxLease)
	case p.Buckets < 0 || p.Buckets > maxBuckets:
		return fmt.Errorf("the number of buckets is %d: set 1 to %d", p.Buckets, maxBuckets)
	}
	return nil
}

func (p *Pool) settings() table.Pool {
	return table.Pool{
		Client: p.Client, Name: p.Pool, Version: p.Version, LongestLease: time.Duration(p.LongestLease),
		LongestLeaseEver: time.Duration(p.LongestEver),
		Quarantine:       time.Duration(p.Quarantine), Buckets: p.Buckets, Floors: p.Floors, Balance: p.Balance, Duplicates: p.Duplicates,
		Forecast: p.Forecast,
	}
}

func (p *Pool) item() table.Item {
	s := p.settings()
	return s.Item()
}

func (p *Pool) read(item table.Item) error {
	s, err := table.PoolOf(item)
	p.Client, p.Pool, p.LongestLease, p.Quarantine, p.Buckets = s.Client, s.Name, Duration(s.LongestLease), Duration(s.Quarantine),
		s.Buckets
	p.LongestEver, p.Floors, p.Balance, p.Duplicates, p.Forecast = Duration(s.LongestLeaseEver), s.Floors, s.Balance, s.Duplicates,
		s.Forecast
	return err
}

// drawBucket returns a random bucket of a region.
func (p *Pool) drawBucket(region string) types.AttributeValue {
	return table.S(lease.Bucket(p.Client, p.Pool, region, rand.IntN(p.Buckets)))
}

func (p *Pool) needs(ctx context.Context, a *Admin) error {
	if time.Duration(p.Quarantine) < a.table.Skew {
		return fmt.Errorf("%s: %w: the quarantine of %v is shorter than the clock skew, %v", p, ErrInvalid, p.Quarantine, a.table.Skew)
	}
	for region := range p.Floors {
		if !slices.Contains(a.regions, region) {
			return fmt.Errorf("%s: %w: there is a floor for %s, which is not one of the configured regions %v", p, ErrInvalid, region,
				a.regions)
		}
	}
	c, err := Get(ctx, a, Client{Client: p.Client})
	if err == nil {
		err = a.checkWriter(&c, c.writer)
	}
	return err
}

func (p *Pool) checkReplaces(old *Pool) error {
	if p.Buckets < old.Buckets {
		return fmt.Errorf("%s: the number of buckets cannot decrease from %d to %d: agents would not find the resources in the others", p,
			old.Buckets, p.Buckets)
	}
	p.LongestEver = max(p.LongestEver, old.LongestEver)
	return nil
}

func (p *Pool) unused(ctx context.Context, a *Admin) error {
	return a.Resources(ctx, p.Client, ResourceFilter{Pool: p.Pool, Limit: 1, InUse: true}, func(found Resource) error {
		return fmt.Errorf("%s: %w: the pool has resources, such as %q; retire them first", p, ErrInUse, found.Resource)
	})
}
