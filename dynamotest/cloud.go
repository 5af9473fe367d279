package dynamotest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/dynamotest/internal/journal"
)

// Cloud is some regions with their tables. It is made by New.
//
// It has no goroutine that makes time pass: what lags is put on the agenda, and each request first does what is due by
// then. So the mutex is all there is to the concurrency of tables.
type Cloud struct {
	cfg     Config
	clock   Clock
	regions []*Region
	texts   *texts
	served  atomic.Uint64 // requests

	mu      sync.Mutex // of what follows, and of all that the regions have
	now     int64      // of the request or the task in hand, in nanoseconds since 1970; never goes back
	agenda  agenda
	dice    *rand.Rand
	faults  []Fault
	links   map[Link]*link
	afloat  int // replicated writes on their way
	ids     uint64
	journal *journal.Journal // nil without a directory
	replays bool             // the journal is being read: nothing lags
	failed  error            // of the journal: nothing can be answered any more
}

// New returns the cloud of the configuration, with the tables that its directory keeps. It starts nothing. Whoever is
// done with it calls Close.
func New(cfg Config) (*Cloud, error) {
	if len(cfg.Regions) == 0 {
		cfg.Regions = []string{"eu-west-1"}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	c := &Cloud{
		cfg: cfg, clock: cfg.Clock, texts: newTexts(), links: map[Link]*link{},
		dice: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)), faults: slices.Clone(cfg.Profile.Faults),
	}
	for _, name := range cfg.Regions {
		c.regions = append(c.regions, newRegion(c, name))
	}
	c.now = c.clock.Now().UnixNano()
	if cfg.Dir != "" {
		if err := c.restore(); err != nil {
			return nil, fmt.Errorf("dynamotest: %w", err)
		}
	}
	return c, nil
}

// Regions returns the regions, in the order of the configuration.
func (c *Cloud) Regions() []*Region { return slices.Clone(c.regions) }

// Region returns the region of that name, nil if there is none.
func (c *Cloud) Region(name string) *Region {
	for _, r := range c.regions {
		if r.name == name {
			return r
		}
	}
	return nil
}

// Close closes the in-memory connections and the directory. Requests that are under way fail.
func (c *Cloud) Close() error {
	var errs []error
	for _, r := range c.regions {
		errs = append(errs, r.memory.close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal != nil {
		errs = append(errs, c.journal.Close())
		c.journal = nil
	}
	c.failed = errors.New("the cloud is closed")
	return errors.Join(errs...)
}

// Settle makes all that is on its way arrive at once: indexes show all writes, and all regions have the same items,
// unless their link is cut. The clock stays where it is.
func (c *Cloud) Settle() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	for {
		t, ok := c.agenda.next(math.MaxInt64)
		if !ok {
			return c.failed
		}
		t.do()
	}
}

// requestID returns a name for a request, as long as DynamoDB's.
func (c *Cloud) requestID() string {
	id := []byte("0000000000000000000000000000000000000000000000000000")
	for i, n := len(id)-1, c.served.Add(1); n > 0; i, n = i-1, n/10 {
		id[i] += byte(n % 10)
	}
	return string(id)
}

// locked calls f with the tables as they are now, and the name of the table that the request is about, "" if of none.
func (c *call) locked(table string, f func() error) error {
	c.cloud.mu.Lock()
	defer c.cloud.mu.Unlock()
	c.cloud.advance()
	if c.cloud.failed != nil {
		return c.cloud.failed
	}
	if err := c.strike(table); err != nil {
		return err
	}
	err := f()
	c.cloud.compact()
	if err != nil {
		return err
	}
	if c.failed {
		return serverError()
	}
	return c.cloud.failed
}

// advance does what is due by now, each at its time.
func (c *Cloud) advance() {
	now := max(c.now, c.clock.Now().UnixNano())
	for {
		t, ok := c.agenda.next(now)
		if !ok {
			break
		}
		c.now = max(c.now, t.due)
		t.do()
	}
	c.now = now
}

// later does something when it is due, at once if that is now or the journal is being read.
func (c *Cloud) later(due int64, do func()) {
	if due <= c.now || c.replays {
		do()
		return
	}
	c.agenda.add(due, do)
}
