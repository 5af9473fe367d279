package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/lease"
)

// Config configures an Agent. Region and AWS, or Region and Client, have to be set.
type Config struct {
	// Region is the region in which new leases begin: the nearest one. Existing leases of a key are
	// found in every region.
	Region string
	// Table is the name of the lease table. Defaults to weir-leases.
	Table string
	// AWS is the configuration of the DynamoDB clients: credentials, retries, HTTP client. Its
	// region is not used.
	AWS aws.Config
	// Endpoints are the DynamoDB URLs of regions that are not at AWS's own address, by region.
	Endpoints map[string]string
	// Client returns a DynamoDB client for a region. It is called once for each region. Defaults to
	// a client from AWS and Endpoints.
	Client func(region string) *dynamodb.Client

	// Skew is the maximum difference between any two clocks of agents, executors and DynamoDB. All
	// processes that use the table need the same value. A resource that is transferred to another
	// region rests for four times as long. Defaults to 500 ms.
	Skew time.Duration
	// Timeout is the limit of one request, with all its attempts and its answer. Defaults to 2 s.
	Timeout time.Duration
	// Attempts is the maximum number of attempts of one request. Defaults to 3.
	Attempts int
	// CacheLeases is the maximum number of leases in memory. Defaults to 100,000.
	CacheLeases int
	// CacheTTL is the time for which a lease is returned from memory. A lease that another process
	// released, or that was superseded, can be returned for as long. Watch reads the table at this
	// interval. Defaults to 5 s.
	CacheTTL time.Duration
	// Candidates is the number of available resources of a pool that are read ahead. Defaults to
	// 16.
	Candidates int
	// CandidateTTL is the time for which candidates are kept. Defaults to 5 s.
	CandidateTTL time.Duration
	// SettingsTTL is the age at which settings of pools and write leases are read again, in the
	// background. Defaults to 30 s.
	SettingsTTL time.Duration

	// Log receives errors of background requests. Defaults to no log.
	Log *zerolog.Logger
	// Slog is used in place of Log, if it is set. Its levels are read once, by New.
	Slog slog.Handler
	// Observe is called after each call of GetLease, Renew and Release. It must return quickly. Nil
	// is allowed.
	Observe func(Call)
}

// Call describes a completed call, for Config.Observe.
type Call struct {
	Op         string // get, renew, release
	Client     string
	Pool       string
	Cached     bool          // the lease came from memory
	New        bool          // the lease began with this call
	RoundTrips int           // requests to DynamoDB
	Tries      int           // candidates that were tried
	Duration   time.Duration // duration of the call
	Err        error         // error that the call returned
}

// setDefaults sets defaults and returns an error for an invalid field.
func (c *Config) setDefaults() error {
	if err := lease.CheckName("region", c.Region, lease.MaxName); err != nil {
		return fmt.Errorf("%w: Config.Region: %w", ErrInvalid, err)
	}
	c.Table = cmp.Or(c.Table, "weir-leases")
	c.Skew = cmp.Or(c.Skew, 500*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.CacheLeases = cmp.Or(c.CacheLeases, 100_000)
	c.CacheTTL = cmp.Or(c.CacheTTL, 5*time.Second)
	c.Candidates = cmp.Or(c.Candidates, 16)
	c.CandidateTTL = cmp.Or(c.CandidateTTL, 5*time.Second)
	c.SettingsTTL = cmp.Or(c.SettingsTTL, 30*time.Second)
	c.Log = slogger.Choose(c.Log, c.Slog)
	if c.Client == nil {
		c.Client = c.newClient
	}
	for _, f := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"Skew", c.Skew, c.Skew < 0},
		{"Timeout", c.Timeout, c.Timeout < 0},
		{"Attempts", c.Attempts, c.Attempts < 0},
		{"CacheLeases", c.CacheLeases, c.CacheLeases < 0},
		{"CacheTTL", c.CacheTTL, c.CacheTTL < 0},
		{"Candidates", c.Candidates, c.Candidates < 0},
		{"CandidateTTL", c.CandidateTTL, c.CandidateTTL < 0},
		{"SettingsTTL", c.SettingsTTL, c.SettingsTTL < 0},
	} {
		if f.negative {
			return fmt.Errorf("%w: Config.%s is %v: set a positive value, or 0 for the default", ErrInvalid, f.name, f.value)
		}
	}
	return nil
}

// newClient returns a DynamoDB client of a region, from AWS and Endpoints.
func (c *Config) newClient(region string) *dynamodb.Client {
	return dynamodb.NewFromConfig(c.AWS, func(o *dynamodb.Options) {
		o.Region = region
		if at := c.Endpoints[region]; at != "" {
			o.BaseEndpoint = aws.String(at)
		}
	})
}
