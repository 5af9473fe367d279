package node

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/weirhq/weir/internal/config"
)

// Allocation is how a role uses its share of the memory budget, in bytes. All figures are upper
// bounds; a role does not reach all of them at the same time.
type Allocation struct {
	Share int64 // the role's share of the budget
	Uses  []Use // what the share is used for
	// Outside is memory beside the budget: its bound must not depend on a process's memory.
	Outside []Use

	// Second is the part of the share of a second store; nil: there is none.
	Second *Allocation

	// Of a role with a runtime.
	Workers      int
	Cache        int64 // block cache of the store
	WriteBuffers int64 // of the store
	Fetch        int64 // fetches of each reader, as they arrive from the brokers
	Changes      int64 // changes of all open transactions
	Handlers     int64 // handlers of standbys
}

// Use is one line of `weir config memory`.
type Use struct {
	What  string
	Bytes int64
	Note  string
}

const (
	minStore = 4 << 20 // cache or write buffers

	// Memory of records in proportion to what is counted.
	recordsPerFetch  = 10 // decoded records take about ten times the bytes of their fetch
	recordsPerChange = 4  // a change is in memory as value, record, batch and pending write
)

// runtimeAllocation divides the share of a role that has a runtime: block cache, write buffers,
// fetches and open transactions.
func runtimeAllocation(c *config.Config, share int64, workers int, cache int64) Allocation {
	readers := int64(workers + min(1, c.Processor.Standbys)) // standbys have one reader of their own
	a := Allocation{
		Share: share, Workers: workers, Cache: max(minStore, cache), WriteBuffers: max(minStore, share/8),
		Fetch: min(32<<20, share/48/readers), Changes: min(int64(c.Processor.CommitBytes), share/24),
	}
	fetches := readers * a.Fetch
	a.Uses = []Use{
		{"block cache", a.Cache, "of the store"},
		{"write buffers", a.WriteBuffers, "of the store"},
		{
			"fetched records", recordsPerFetch * fetches,
			fmt.Sprintf("%d bytes of fetches; decoded records take about ten times as much", fetches),
		},
		{
			"open transactions", recordsPerChange * a.Changes,
			fmt.Sprintf("%d bytes of changes, until the store has them; their records take about four times as much", a.Changes),
		},
	}
	return a
}

// Budget is the memory of a process, divided between its roles.
type Budget struct {
	total int64
	roles []roleBudget
}

type roleBudget struct {
	name string
	Allocation
}

// NewBudget divides the memory of c between roles, by their weights.
func NewBudget(c *config.Config, roles []Role) Budget {
	b := Budget{total: int64(c.Memory)}
	var weights int64
	for _, r := range roles {
		weights += r.Weight
	}
	for _, r := range roles {
		b.roles = append(b.roles, roleBudget{r.Name, r.Memory(c, b.total*r.Weight/weights)})
	}
	return b
}

// Of returns the allocation of a role; the zero value if the role is not in the budget.
func (b Budget) Of(role Role) Allocation {
	for _, r := range b.roles {
		if r.name == role.Name {
			return r.Allocation
		}
	}
	return Allocation{}
}

// Outside returns the bytes that the roles may use beside the budget.
func (b Budget) Outside() (bytes int64) {
	for _, r := range b.roles {
		for _, u := range r.Outside {
			bytes += u.Bytes
		}
	}
	return bytes
}

// HeapLimit returns the soft memory limit of the Go runtime.
func (b Budget) HeapLimit() int64 {
	heap := b.total
	if offHeap() {
		for _, r := range b.roles {
			heap -= r.Cache + r.WriteBuffers
		}
	}
	return max(heap, b.total/2)
}

// LimitHeap sets the soft memory limit of the Go runtime to HeapLimit and the bytes that the
// process has beside the budget, unless GOMEMLIMIT sets it. Garbage counts: near the limit the
// collector runs more often.
func (b Budget) LimitHeap(beside int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(b.HeapLimit() + beside)
	}
}

// offHeap reports whether the store allocates its memory with cgo, where the garbage collector
// does not count it.
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

// BudgetRow is a row of `weir config memory`.
type BudgetRow struct {
	Role  string `json:"role"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Share string `json:"share"` // of the budget
	Note  string `json:"note"`
}

// Rows lists the uses of the memory: the budget, the uses of each role, then what is outside.
func (b Budget) Rows() []BudgetRow {
	list := []BudgetRow{b.row("", Use{"memory", b.total, "the budget; the following rows are parts of it"})}
	for _, r := range b.roles {
		for _, u := range r.Uses {
			list = append(list, b.row(r.name, u))
		}
	}
	for _, r := range b.roles {
		for _, u := range r.Outside {
			list = append(list, b.row(r.name, u))
		}
	}
	return list
}

func (b Budget) row(role string, u Use) BudgetRow {
	share := math.Round(100 * float64(u.Bytes) / float64(b.total))
	return BudgetRow{role, u.What, u.Bytes, fmt.Sprintf("%d%%", int(share)), u.Note}
}
