package agent

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/lease"
)

// Config says how an agent works. Region and AWS, or Region and Client, must be set.
type Config struct {
	// Region is the region whose resources are leased: the nearest one.
	Region string
	// Table is the table of leases. Defaults to weir-leases.
	Table string
	// AWS is what clients are made from, one for each region: credentials, endpoint, HTTP client.
	AWS aws.Config
	// Endpoints are the addresses of regions, where they are not AWS's own.
	Endpoints map[string]string
	// Client gives the DynamoDB client of a region. Defaults to one made of AWS and Endpoints.
	Client func(region string) *dynamodb.Client

	// Skew is the most by which any clock that has to do with the table may be off. It must be the same everywhere. A
	// resource that moves to another region rests for four times as long. Defaults to 500 ms.
	Skew time.Duration
	// Timeout is for one request, its answer included. Defaults to 2 s.
	Timeout time.Duration
	// Attempts is how often a request is sent, at most. Defaults to 3.
	Attempts int
	// CacheLeases is how many leases are kept in memory, at most. Defaults to 100,000.
	CacheLeases int
	// CacheTTL is for how long a lease is given from memory without another look at the table: for so long a lease that
	// somebody else gave back or superseded can still be given out here. Defaults to 5 s.
	CacheTTL time.Duration
	// Candidates is how many available resources of a pool are read ahead. Defaults to 16.
	Candidates int
	// CandidateTTL is for how long they are kept. Defaults to 5 s.
	CandidateTTL time.Duration
	// SettingsTTL is for how long settings of clients and pools are kept. Defaults to 30 s.
	SettingsTTL time.Duration

	// Logger is told what goes wrong behind a call's back. Defaults to none.
	Logger zerolog.Logger
	// Observe is called after each call. It must be quick. Defaults to nothing.
	Observe func(Call)
}

// Call is what Config.Observe is told.
type Call struct {
	Op         string // get, renew, release
	Client     string
	Pool       string
	Cached     bool // the lease came from memory
	New        bool // it began with this call
	RoundTrips int  // to DynamoDB
	Tries      int  // candidates tried
	Took       time.Duration
	Err        error
}

func (c *Config) fill() error {
	if err := lease.CheckName("region", c.Region, lease.MaxName); err != nil {
		return fmt.Errorf("%w: Config.Region: %w", ErrInvalid, err)
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"Skew", &c.Skew, 500 * time.Millisecond},
		{"Timeout", &c.Timeout, 2 * time.Second},
		{"CacheTTL", &c.CacheTTL, 5 * time.Second},
		{"CandidateTTL", &c.CandidateTTL, 5 * time.Second},
		{"SettingsTTL", &c.SettingsTTL, 30 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
		if *d.v < 0 {
			return fmt.Errorf("%w: Config.%s is negative: %v", ErrInvalid, d.name, *d.v)
		}
	}
	for _, n := range []struct {
		name string
		v    *int
		def  int
	}{{"Attempts", &c.Attempts, 3}, {"CacheLeases", &c.CacheLeases, 100_000}, {"Candidates", &c.Candidates, 16}} {
		if *n.v == 0 {
			*n.v = n.def
		}
		if *n.v < 0 {
			return fmt.Errorf("%w: Config.%s is negative: %d", ErrInvalid, n.name, *n.v)
		}
	}
	if c.Table == "" {
		c.Table = "weir-leases"
	}
	if c.Client == nil {
		c.Client = c.client
	}
	return nil
}

// client makes the client of a region.
func (c *Config) client(region string) *dynamodb.Client {
	return dynamodb.NewFromConfig(c.AWS, func(o *dynamodb.Options) {
		o.Region = region
		if at := c.Endpoints[region]; at != "" {
			o.BaseEndpoint = aws.String(at)
		}
	})
}
