package balancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/stream"
)

// Balancer is the pools of one task. It is not safe for concurrent use. After an error it is of no more use: the state
// that was committed is the truth, and New begins from it.
type Balancer struct {
	cfg    Config
	task   stream.Task
	broken error // the first error; every later call returns it

	regions []region // by Config.Regions
	pools   map[string]*pool
	order   []*pool // by key
	touched []*pool // pools with resources in fresh

	firedMs      int64 // the last time of day that was heard of
	plannedMs    int64
	ticking      bool // a timer is set
	changed      bool // the task's row is not as committed
	pendingBytes int  // about how many bytes the next Flush has

	out            []output
	endedTransfers []string   // flights that ended, by key
	deletions      []deletion // rows of pools that are forgotten
	stats          Stats
	scratch        []byte
}

// output is a record to be produced at the next Flush.
type output struct {
	to    string // name of the output
	key   string
	value []byte
}

// New returns a balancer that stands where t's committed state does. It reads the row of every resource, to count them.
func New(cfg Config, t stream.Task) (*Balancer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Balancer{cfg: cfg, task: t, regions: make([]region, len(cfg.Regions)), pools: map[string]*pool{}, stats: Stats{Moved: map[MovePath]int64{}}}
	for i := range b.regions {
		b.regions[i].seen = map[string]heartbeat{}
	}
	if err := b.load(); err != nil {
		return nil, fmt.Errorf("balancer, partition %d: %w", t.Partition, err)
	}
	return b, nil
}

// region is the index of a region; -1 if it is not declared.
func (b *Balancer) region(name string) int { return slices.Index(b.cfg.Regions, name) }

// poolRegion is a pool in a region; nil if the region is not declared.
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

// pool is a pool by its name; it is made if there is none.
func (b *Balancer) pool(client, name string) *pool {
	key := joinNames(client, name)
	p := b.pools[key]
	if p == nil {
		p = &pool{
			client: client, name: name, key: key, regions: make([]poolRegion, len(b.regions)), changed: true,
			changedRows: map[string]*entry{}, transfers: map[string]*transfer{},
		}
		for i := range p.regions {
			p.regions[i].profile = &Profile{}
			p.regions[i].freeBin = b.firedMs/freeGrain - 1
		}
		b.pools[key] = p
		i, _ := slices.BinarySearchFunc(b.order, key, func(p *pool, key string) int { return cmp.Compare(p.key, key) })
		b.order = slices.Insert(b.order, i, p)
	}
	return p
}

// fail makes b useless.
func (b *Balancer) fail(err error) error {
	if b.broken == nil {
		b.broken = fmt.Errorf("balancer, partition %d: %w", b.task.Partition, err)
	}
	return b.broken
}
