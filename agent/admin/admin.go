package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Errors to branch on, with errors.Is. Those of package agent come beside them.
var (
	ErrInvalid  = errors.New("this is not valid")
	ErrNotFound = errors.New("it is not there")
	ErrExists   = errors.New("it is there already")
	ErrChanged  = errors.New("somebody else changed it meanwhile: look again")
	ErrInUse    = errors.New("it is in use")
	ErrHome     = errors.New("its settings are kept in another region")
)

// Config says which table. All fields but the last four must be set.
type Config struct {
	Table   string
	Regions []string
	// Client and Streams make the clients of a region.
	Client  func(region string) *dynamodb.Client
	Streams func(region string) *dynamodbstreams.Client

	// Home is the region that settings and new resources are written through, as MoveHome made it. Defaults to the first of Regions.
	Home     string
	Skew     time.Duration // as of agents. Defaults to 500 ms
	Timeout  time.Duration // of a request. Defaults to 5 s
	Attempts int           // of a request. Defaults to 5
}

// Admin administers a table. It is safe for use by many goroutines.
type Admin struct {
	table      table.Table
	regions    []string
	streams    func(region string) *dynamodbstreams.Client
	homeRegion string // the home

	mu          sync.Mutex
	checked     time.Time // that it is
	formerHomes []string  // regions that are asked, too, before a new resource is put in
	lostHome    string    // which of them need not answer
}

// New returns an Admin. It sends nothing yet.
func New(c Config) (*Admin, error) {
	if len(c.Regions) == 0 {
		return nil, fmt.Errorf("%w: no region is given", ErrInvalid)
	}
	for _, r := range c.Regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if c.Home == "" {
		c.Home = c.Regions[0]
	}
	if !slices.Contains(c.Regions, c.Home) {
		return nil, fmt.Errorf("%w: the home, %s, is none of the regions %v", ErrInvalid, c.Home, c.Regions)
	}
	if c.Skew == 0 {
		c.Skew = 500 * time.Millisecond
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Attempts == 0 {
		c.Attempts = 5
	}
	a := &Admin{regions: c.Regions, streams: c.Streams, homeRegion: c.Home}
	a.table.Name, a.table.New, a.table.Skew, a.table.Timeout, a.table.Attempts = c.Table, c.Client, c.Skew, c.Timeout, c.Attempts
	return a, nil
}

// home is the region whose endpoint settings and new resources are written through, as configured.
func (a *Admin) home() string { return a.homeRegion }

// request limits one request, whose client does the retries.
func (a *Admin) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.table.Timeout)
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}
