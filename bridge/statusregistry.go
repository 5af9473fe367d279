package bridge

import (
	"slices"
	"strings"
	"sync"
)

// Status is the state of a region's bridge.
type Status struct {
	Region  string
	LagMs   int64  // age of the oldest record that was not read, 0 if all were read
	Shards  int    // shards of the stream that are not finished
	Stream  string // ARN of the stream that is read; "" without a stream
	Scan    string // which scan reads the table now: "scan", "sweep" or ""
	Rows    int64  // rows of the region that the scan has read so far
	Problem string // the latest error that still lasts; "" without an error
}

// StatusRegistry holds the Status of each region that a bridge of this process reads. The zero
// value is ready. It is safe for concurrent use.
type StatusRegistry struct {
	mu       sync.Mutex
	byRegion map[string]registered
}

type registered struct {
	by     *Bridge
	status Status
}

// List returns the status of all regions, in the order of their names.
func (r *StatusRegistry) List() (list []Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byRegion {
		list = append(list, s.status)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Region, b.Region) })
	return list
}

func (r *StatusRegistry) set(by *Bridge, s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRegion == nil {
		r.byRegion = map[string]registered{}
	}
	r.byRegion[s.Region] = registered{by, s}
}

// remove removes the status that by has set. It returns false if another bridge of the region has
// set its own since.
func (r *StatusRegistry) remove(by *Bridge, region string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRegion[region].by != by {
		return false
	}
	delete(r.byRegion, region)
	return true
}
