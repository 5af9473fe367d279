package balancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
)

// Balancer balances the pools of one task. It is not safe for concurrent use. After an error it
// must be discarded: New builds another from the committed state.
type Balancer struct {
	cfg     Config
	changes changes.Decoder
	task    stream.Task
	broken  error // the first error; every later call returns it

	regions []region // by Config.Regions
	pools   map[string]*pool
	order   []*pool // by key
	touched []*pool // pools with changed resources

	firedMs      int64 // time of the last tick, Unix ms
	plannedMs    int64
	ticking      bool  // a timer is set
	changed      bool  // the task's row differs from the committed one
	pendingBytes int   // estimated size of the next Flush
	memory       int64 // of a standby, see MemoryBytes

	out            []output
	endedTransfers []string   // keys of ended transfers
	deletions      []deletion // rows of forgotten pools
	stats          Stats
	scratch        []byte
	entries        []entry // free entries for changed resources
}

// output is a record for the next Flush. A nil value is a tombstone.
type output struct {
	to    string // name of the output
	key   string
	value []byte
}

// New returns a Balancer with the committed state of t. It reads the rows of all resources to count
// them.
func New(cfg Config, t stream.Task) (*Balancer, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	b := &Balancer{
		cfg: cfg, task: t, regions: make([]region, len(cfg.Regions)), pools: map[string]*pool{}, stats: Stats{Moved: map[MovePath]int64{}},
	}
	b.changes = changes.Decoder{Rules: b.cfg.rules(), Fold: b.foldChange}
	for i := range b.regions {
		b.regions[i].seen = map[string]heartbeat{}
	}
	if err := b.load(); err != nil {
		return nil, fmt.Errorf("balancer, partition %d: %w", t.Partition, err)
	}
	return b, nil
}

// region returns the index of a region; -1 if it is not declared.
func (b *Balancer) region(name string) int { return slices.Index(b.cfg.Regions, name) }

// poolRegion returns the state of a pool in a region; nil if the region is not declared.
func (b *Balancer) poolRegion(p *pool, region string) *poolRegion {
	if i := b.region(region); i >= 0 {
		return &p.regions[i]
	}
	return nil
}

func (b *Balancer) poolRegionOf(key string) *poolRegion {
	parts := strings.SplitN(key, "\x00", 3)
	if len(parts) < 3 {
		return nil
	}
	return b.poolRegion(b.pool(parts[0], parts[1]), parts[2])
}

// pool returns a pool by its name, and adds it if it is unknown.
func (b *Balancer) pool(client, name string) *pool {
	b.scratch = append(append(append(b.scratch[:0], client...), 0), name...)
	p := b.pools[string(b.scratch)] // without an allocation
	if p == nil {
		key := string(b.scratch)
		p = &pool{
			client: key[:len(client)], name: key[len(client)+1:], key: key, regions: make([]poolRegion, len(b.regions)), changed: true,
			changedRows: map[string]*entry{}, transfers: map[string]*transfer{},
		}
		for i := range p.regions {
			p.regions[i].profile = &forecast.Profile{}
			p.regions[i].freeBin = b.firedMs/freeGrain - 1
		}
		b.pools[key] = p
		i, _ := slices.BinarySearchFunc(b.order, key, func(p *pool, key string) int { return cmp.Compare(p.key, key) })
		b.order = slices.Insert(b.order, i, p)
	}
	return p
}

// fail records the first error, which all later calls return.
func (b *Balancer) fail(err error) error {
	if b.broken == nil {
		b.broken = fmt.Errorf("balancer, partition %d: %w", b.task.Partition, err)
	}
	return b.broken
}
