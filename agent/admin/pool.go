package admin

import (
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

// Pool is what keys lease resources from. Zero values are defaults when it is made.
type Pool struct {
	Client string `json:"client"`
	Pool   string `json:"pool"`
	// LongestLease is the longest a lease may be; longer ones are made shorter. Defaults to 1 h.
	LongestLease Duration `json:"longest_lease"`
	// LongestEver is the greatest LongestLease that the pool ever had: a region that is cut off may not have heard that it became
	// less, so an adoption waits for that long. It never becomes less itself.
	LongestEver Duration `json:"longest_ever" table:"wide"`
	// Quarantine is for how long after its lease's end a resource is not leased to another key. Defaults to 10 s.
	Quarantine Duration `json:"quarantine"`
	// Buckets is over how many partitions of the index a region's available resources are spread: one for each
	// 10,000 resources or 1,000 new leases a second. It can only grow. Defaults to 10.
	Buckets int `json:"sub_partitions"`
	// Floors are how many free resources a region keeps, whoever else needs them, by region. Defaults to none.
	Floors map[string]int64 `json:"floors" table:"wide"`
	// Balance is whether free resources are moved to where they are needed: on or off. Defaults to on.
	Balance string `json:"balance" table:"wide"`
	// Duplicates is what is done about a key that two regions lease: observe, supersede the later lease, or release its
	// resource too. Defaults to supersede.
	Duplicates string `json:"duplicates" table:"wide"`
	// Forecast is how the need is foretold: ewma, holt, seasonal, or auto: whatever was best of late. Defaults to auto.
	Forecast string `json:"forecast" table:"wide"`
	Stored
}

// String names it.
func (p *Pool) String() string { return fmt.Sprintf("pool %q of client %q", p.Pool, p.Client) }

func (p *Pool) primary() lease.PrimaryKey { return lease.PoolRow(p.Client, p.Pool) }

// Limits of a pool's settings.
const (
	maxLease   = 365 * 24 * time.Hour
	maxBuckets = 1000
)

func (p *Pool) check() error {
	if p.LongestLease == 0 {
		p.LongestLease = Duration(time.Hour)
	}
	if p.Quarantine == 0 {
		p.Quarantine = Duration(10 * time.Second)
	}
	if p.Buckets == 0 {
		p.Buckets = 10
	}
	p.LongestEver = max(p.LongestEver, p.LongestLease)
	err := errors.Join(
		lease.CheckLease(p.Client, p.Pool, "-"), checkDescription(p.Description), checkEnum("balance", &p.Balance, table.BalanceModes()),
		checkEnum("duplicates", &p.Duplicates, table.DuplicateModes()), checkEnum("forecast", &p.Forecast, table.Forecasts()),
	)
	for region, n := range p.Floors {
		if n < 0 || n > table.MaxFloor {
			err = errors.Join(err, fmt.Errorf("the floor of %s is %d: give 0 to %d", region, n, table.MaxFloor))
		}
	}
	switch {
	case err != nil:
		return err
	case p.LongestLease < 0 || p.LongestLease > Duration(maxLease):
		return fmt.Errorf("the longest lease is %v: give more than 0 and no more than %v", p.LongestLease, maxLease)
	case p.LongestEver > Duration(maxLease):
		return fmt.Errorf("the longest lease that ever was is %v: give no more than %v", p.LongestEver, maxLease)
	case p.Quarantine < 0 || p.Quarantine > Duration(maxLease):
		return fmt.Errorf("the quarantine is %v: give more than 0 and no more than %v", p.Quarantine, maxLease)
	case p.Buckets < 0 || p.Buckets > maxBuckets:
		return fmt.Errorf("there are %d sub-partitions: give 1 to %d", p.Buckets, maxBuckets)
	}
	return nil
}

func (p *Pool) settings() table.Pool {
	return table.Pool{
		Client: p.Client, Name: p.Pool, Version: p.Version, LongestLease: time.Duration(p.LongestLease), LongestLeaseEver: time.Duration(p.LongestEver),
		Quarantine: time.Duration(p.Quarantine), Buckets: p.Buckets, Floors: p.Floors, Balance: p.Balance, Duplicates: p.Duplicates, Forecast: p.Forecast,
	}
}

func (p *Pool) item() table.Item {
	s := p.settings()
	return s.Item()
}

func (p *Pool) read(item table.Item) error {
	s, err := table.PoolOf(item)
	p.Client, p.Pool, p.LongestLease, p.Quarantine, p.Buckets = s.Client, s.Name, Duration(s.LongestLease), Duration(s.Quarantine), s.Buckets
	p.LongestEver, p.Floors, p.Balance, p.Duplicates, p.Forecast = Duration(s.LongestLeaseEver), s.Floors, s.Balance, s.Duplicates, s.Forecast
	return err
}

// drawBucket is a sub-partition of a region, drawn.
func (p *Pool) drawBucket(region string) types.AttributeValue {
	return table.S(lease.Bucket(p.Client, p.Pool, region, rand.IntN(p.Buckets)))
}

func (p *Pool) needs(ctx context.Context, a *Admin) error {
	if time.Duration(p.Quarantine) < a.table.Skew {
		return fmt.Errorf("%s: %w: the quarantine of %v is shorter than clocks may be off, %v", p, ErrInvalid, p.Quarantine, a.table.Skew)
	}
	for region := range p.Floors {
		if !slices.Contains(a.regions, region) {
			return fmt.Errorf("%s: %w: there is a floor for %s, which is not one of the configured regions %v", p, ErrInvalid, region, a.regions)
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
		return fmt.Errorf("%s: sub-partitions cannot become fewer, %d of %d: what lies in the others would be found by nobody", p, p.Buckets, old.Buckets)
	}
	p.LongestEver = max(p.LongestEver, old.LongestEver)
	return nil
}

func (p *Pool) unused(ctx context.Context, a *Admin) error {
	return a.Resources(ctx, p.Client, Filter{Pool: p.Pool, Limit: 1, InUse: true}, func(found Resource) error {
		return fmt.Errorf("%s: %w: it has resources, such as %q; retire them first", p, ErrInUse, found.Resource)
	})
}
