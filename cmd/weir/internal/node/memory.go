package node

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
)

// allocation is where the part of the memory budget goes that a role has, in bytes. What is used is often less: they are bounds, and do
// not reach theirs together.
type allocation struct {
	role      string
	campaigns int64 // of the spend counter
	cache     int64 // blocks of the store
	writes    int64 // write buffers of the store
	readers   int64 // workers, and one for standbys
	fetch     int64 // of each reader, as they come from the brokers: in memory that becomes about ten times as much
	changes   int64 // of all open transactions, until the store has them: with their records for the brokers about four times as much
	queue     int64 // of bridges, each: what was read from a stream and not handed over
	regions   int64 // that have a bridge, or an executor
	pending   int64 // of executors: commands of each partition and region that wait in memory
	pendings  int64 // partitions and regions
}

// Budget is how the memory of a process is divided between the roles that run in it.
type Budget struct {
	total int64
	roles []allocation
	ids   int64 // event ids, at most: beside the budget, because replicas must forget at the same event
}

// weight is a role's part beside those of others. The spend counter sees a thousand times as many records as the lease loop; of the
// loop, the balancer has all resources and asks for their rows, and bridge and executor have what is under way alone.
func weight(role string) int64 {
	switch role {
	case RoleSpend:
		return 8
	case roleBalancer:
		return 4
	case roleLiberator, roleDedup:
		return 2
	}
	return 1
}

const (
	leastStore   = 4 << 20 // cache or write buffers
	queueBytes   = 4 << 20 // of a bridge, at most
	pendingBytes = 1 << 10 // what a command takes that waits in memory
	leastPending = 4       // commands, for each that is under way
	mostPending  = 2000
)

// NewBudget divides the budget of c between the roles of a process.
func NewBudget(c *config.Config, roleList []string) Budget {
	b := Budget{total: int64(c.Memory)}
	var all int64
	for _, role := range expandRoles(roleList) {
		all += weight(role)
	}
	for _, role := range expandRoles(roleList) {
		b.roles = append(b.roles, allocate(c, role, b.total*weight(role)/all))
		if role == RoleSpend {
			b.ids = int64(c.Spend.MaxIDs) * idBytes * int64(c.Spend.Partitions)
		}
	}
	return b
}

// allocate divides what a role has.
func allocate(c *config.Config, role string, part int64) allocation {
	regions, _ := c.Leases.RegionEndpoints()
	s := allocation{role: role, regions: int64(len(regions))}
	if role == RoleExecutor {
		if c.Leases.Region != "" {
			s.regions = 1
		}
		s.pendings = s.regions * int64(c.Leases.Partitions)
		s.pending = max(min(part/pendingBytes/s.pendings, mostPending), leastPending*int64(c.Leases.Executor.Concurrency))
		return s
	}
	s.readers = int64(workersOf(c, role) + min(1, c.Processor.Standbys))
	s.cache, s.writes = part/8, part/8
	s.fetch, s.changes = min(32<<20, part/48/s.readers), min(int64(c.Processor.CommitBytes), part/24)
	switch role {
	case RoleSpend:
		s.campaigns = part / 4
		return s
	case RoleBridge:
		s.queue = min(queueBytes, part/4/s.regions)
	default:
		s.cache += part / 4
	}
	s.cache, s.writes = max(leastStore, s.cache), max(leastStore, s.writes)
	return s
}

// workersOf is how many workers the processor of a role has. A thousandth of what passes the spend counter passes the others.
func workersOf(c *config.Config, role string) int {
	switch {
	case role != RoleSpend:
		return max(1, c.Processor.Workers/4)
	case c.Processor.Workers == 0:
		return processors.DefaultWorkers()
	}
	return c.Processor.Workers
}

// of is what a role has.
func (b Budget) of(role string) allocation {
	i := slices.IndexFunc(b.roles, func(s allocation) bool { return s.role == role })
	if i < 0 {
		return allocation{}
	}
	return b.roles[i]
}

// HeapLimit is what Go's collector is told to stay below.
func (b Budget) HeapLimit() int64 {
	heap := b.total
	if offHeap() {
		for _, s := range b.roles {
			heap -= s.cache + s.writes
		}
	}
	return max(heap, b.total/2)
}

// idBytes is what an event id takes at most.
const idBytes = 21

// offHeap says whether the store takes its memory from C: the collector does not see it.
func offHeap() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" {
			return s.Value == "1"
		}
	}
	return false
}

// BudgetRow is a line of `weir config memory`.
type BudgetRow struct {
	Role  string `json:"role"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Share string `json:"share"` // of the budget
	Note  string `json:"note"`
}

// Rows lists where the memory goes, for weir config memory.
func (b Budget) Rows(c *config.Config) []BudgetRow {
	var list []BudgetRow
	row := func(role, what string, bytes int64, note string) {
		if bytes > 0 {
			list = append(list, BudgetRow{role, what, bytes, fmt.Sprintf("%d%%", int(math.Round(100*float64(bytes)/float64(b.total)))), note})
		}
	}
	row("", "memory", b.total, "the budget, to which the following belong")
	for _, s := range b.roles {
		fetches := s.readers * s.fetch
		row(s.role, "campaigns", s.campaigns, "those that do not fit cost reads")
		row(s.role, "block cache", s.cache, "of the store")
		row(s.role, "write buffers", s.writes, "of the store")
		row(s.role, "fetched records", 10*fetches, fmt.Sprintf("%d bytes of fetches become about ten times as much", fetches))
		row(s.role, "open transactions", 4*s.changes, fmt.Sprintf("%d bytes of changes, until the store has them, become about four times as much", s.changes))
		row(s.role, "streams", s.queue*s.regions, fmt.Sprintf("what was read of the streams of %d regions and is not handed over", s.regions))
		row(s.role, "commands", s.pending*s.pendings*pendingBytes, fmt.Sprintf("up to %d of each partition wait in memory while their region is down or behind; %d regions", s.pending, s.regions))
	}
	row(RoleSpend, "event ids", b.ids, fmt.Sprintf("not of the budget: spend.max_ids in each of %d partitions, if so many come within spend.duplicate_window", c.Spend.Partitions))
	return list
}
