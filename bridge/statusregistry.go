package bridge

import (
	"slices"
	"strings"
	"sync"
)

// Status is how the bridge of a region stands.
type Status struct {
	Region  string
	LagMs   int64  // see Metrics: age of the oldest record not read
	Shards  int    // of the stream, not finished
	Stream  string // ARN of the stream that is read; "" while none is
	Scan    string // what it reads of the table now: scan, sweep, or nothing
	Rows    int64  // of that, so far
	Problem string // what went wrong last and did not go right since; "" nothing
}

// StatusRegistry has the Status of each region that is bridged in this process. The zero value is ready.
type StatusRegistry struct {
	mu       sync.Mutex
	byRegion map[string]registered
}

type registered struct {
	by     *Bridge
	status Status
}

// List is the regions in the order of their names.
func (b *StatusRegistry) List() (list []Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.byRegion {
		list = append(list, s.status)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Region, b.Region) })
	return list
}

func (b *StatusRegistry) set(by *Bridge, s Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byRegion == nil {
		b.byRegion = map[string]registered{}
	}
	b.byRegion[s.Region] = registered{by, s}
}

// remove takes down what by has said, and says whether nobody said anything since.
func (b *StatusRegistry) remove(by *Bridge, region string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byRegion[region].by != by {
		return false
	}
	delete(b.byRegion, region)
	return true
}
