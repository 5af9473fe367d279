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

// Cloud is a set of regions with their tables. Create it with New. Its methods can be called from
// several goroutines.
//
// No goroutine makes time pass: writes that lag are on the agenda, and each request first carries
// out what is due. So one mutex is enough for all tables.
type Cloud struct {
	cfg     Config
	clock   Clock
	regions []*Region
	texts   *texts
	served  atomic.Uint64 // number of requests so far

	mu        sync.Mutex // guards the following fields and the tables and streams of all regions
	now       int64      // time of the current request or task, in nanoseconds since 1970; never goes back
	agenda    agenda
	rng       *rand.Rand
	faults    []Fault
	links     map[Link]*link
	inTransit int // number of replicated writes that have not arrived
	ids       uint64
	journal   *journal.Journal // nil without a directory
	replaying bool             // the journal is being read, so nothing lags
	failed    error            // if not nil, every request fails: what is on disk is unknown, or the cloud is closed
}

// New returns a cloud with the regions of the configuration and the tables that its directory
// holds. It starts no goroutine. The caller must call Close. New returns an error if the
// configuration is not valid, if the directory cannot be read or written, or if another process has
// it open.
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
		rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)), faults: slices.Clone(cfg.Profile.Faults),
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

// Regions returns the regions in the order of the configuration.
func (c *Cloud) Regions() []*Region { return slices.Clone(c.regions) }

// Region returns the region with that name, or nil.
func (c *Cloud) Region(name string) *Region {
	for _, r := range c.regions {
		if r.name == name {
			return r
		}
	}
	return nil
}

// Close closes the connections in memory and the directory. Requests in progress fail, and so do
// all later ones.
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
	c.failed = errors.New("dynamotest: the cloud is closed")
	return errors.Join(errs...)
}

// Settle carries out everything on the agenda at once: then indexes and eventually consistent reads
// show all writes, and all regions of a global table have the same items, except across a link that
// is cut. The clock does not move. Settle returns an error if the journal cannot be written or the
// cloud is closed.
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

// requestID returns the id of a request, as long as those of DynamoDB.
func (c *Cloud) requestID() string {
	id := []byte("0000000000000000000000000000000000000000000000000000")
	for i, n := len(id)-1, c.served.Add(1); n > 0; i, n = i-1, n/10 {
		id[i] += byte(n % 10)
	}
	return string(id)
}

// locked draws the request's faults and calls f with the mutex held, after all tasks that are due.
// table is the name of the request's table, "" for a request of no table or several.
func (c *call) locked(table string, f func() error) error {
	c.cloud.mu.Lock()
	defer c.cloud.mu.Unlock()
	c.cloud.advance()
	if c.cloud.failed != nil {
		return c.cloud.failed
	}
	if err := c.drawFaults(table); err != nil {
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

// advance carries out each task that is due now, at the time at which it was due.
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

// later calls do at the time due. It calls do at once if that time has come, or while the journal
// is being read.
func (c *Cloud) later(due int64, do func()) {
	if due <= c.now || c.replaying {
		do()
		return
	}
	c.agenda.add(due, do)
}
