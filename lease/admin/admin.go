package admin

import (
	"cmp"
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

// Errors to test with errors.Is. Errors of package agent (ErrUnavailable, ErrTable and others)
// occur as well.
var (
	ErrInvalid         = errors.New("invalid")
	ErrNotFound        = errors.New("not found")
	ErrExists          = errors.New("already exists")
	ErrVersionConflict = errors.New("version conflict: another process changed the row; read it again and retry")
	ErrInUse           = errors.New("in use")
	ErrHome            = errors.New("home region conflict") // errors.As may find a *HomeError
)

// HomeError means that the table names another home region than Config.Home. It is an ErrHome.
type HomeError struct {
	Home       string // home region by the table
	Configured string // Config.Home
}

func (e *HomeError) Error() string {
	return fmt.Sprintf("the home region is %s, and %s is configured as the home: configure the home region in all processes", e.Home,
		e.Configured)
}

// Is reports that the error is an ErrHome.
func (e *HomeError) Is(target error) bool { return target == ErrHome }

// Config names the table and its regions. Home, Skew, Timeout and Attempts have defaults.
type Config struct {
	Table   string
	Regions []string
	// Client and Streams return clients of a region.
	Client  func(region string) *dynamodb.Client
	Streams func(region string) *dynamodbstreams.Client

	// Home is the home region, through which settings and new resources are written. MoveHome
	// changes it in the table, and all processes have to follow. Defaults to the first of Regions.
	Home     string
	Skew     time.Duration // maximum difference between two clocks, as in agent.Config. Defaults to 500 ms
	Timeout  time.Duration // limit of one request. Defaults to 5 s
	Attempts int           // maximum number of attempts of one request. Defaults to 5
}

// Admin administers a table. It is safe for concurrent use.
type Admin struct {
	table      table.Table
	regions    []string
	streams    func(region string) *dynamodbstreams.Client
	homeRegion string // Config.Home

	mu          sync.Mutex
	checked     time.Time // time of the last check that homeRegion is the home region
	formerHomes []string  // regions that may know new resources which the home region does not know yet
	lostHome    string    // one of them, which need not answer
}

// New returns an Admin. It sends no request yet.
func New(c Config) (*Admin, error) {
	if len(c.Regions) == 0 {
		return nil, fmt.Errorf("%w: Config.Regions is empty", ErrInvalid)
	}
	for _, r := range c.Regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	c.Home = cmp.Or(c.Home, c.Regions[0])
	c.Skew = cmp.Or(c.Skew, 500*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 5)
	if !slices.Contains(c.Regions, c.Home) {
		return nil, fmt.Errorf("%w: the home %s is not one of the regions %v", ErrInvalid, c.Home, c.Regions)
	}
	a := &Admin{regions: c.Regions, streams: c.Streams, homeRegion: c.Home}
	a.table.Name, a.table.New, a.table.Skew, a.table.Timeout, a.table.Attempts = c.Table, c.Client, c.Skew, c.Timeout, c.Attempts
	return a, nil
}

// home returns the configured home region.
func (a *Admin) home() string { return a.homeRegion }

// request returns a context for one request with all its attempts.
func (a *Admin) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.table.Timeout)
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}
