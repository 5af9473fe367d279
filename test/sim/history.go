package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// History records everything in a run that Check and readers need.
type History struct {
	Scenario   *Scenario
	Transcript string
	Events     int
	Marks      map[string]int // rare situations that runs must reach, with their counts
	Broken     error          // error of a core or of the simulator, which is always a failure
	Rejects    []string       // records that a core rejected, which is always a failure

	Writes     []Write
	Uses       []Use
	Commands   []Command
	Results    []Result
	Answers    []Answer
	Headroom   map[string]*eventspb.LeaseHeadroom // last record, by region
	Duplicates map[string]string                  // last state, by key
	Transfers  []*balancerpb.Transfer
	Rows       [][]item // at the end, by region
	Left       []string // commands that executors have not carried out at the end

	newest map[rowID]stamp
	set    map[rowID]int64 // greatest version written, by row of settings
}

// Write is a successful write of the lease protocol.
type Write struct {
	At            int64
	Region        int
	Row           rowID
	Name          string
	Rule          string
	Before, After lease.Row
	Newest        int64  // version of the row after its last write in any region
	Owner         string // owner after that write, if the owner's region had received it
	Ahead         int64  // difference of its time to the time of this write; the last writer wins
}

// Use is the time in which users of a key use a resource, in true time: until their deadline, even
// if the agent crashes.
type Use struct {
	Agent            string
	Key              int
	Resource, Region string
	From, Until      int64
}

// Command is a committed command.
type Command struct {
	At     int64
	Region int
	Is     *eventspb.LeaseCommand
}

// Result is the result of a command.
type Result struct {
	At     int64
	Offset int
	Region int
	Is     *eventspb.LeaseResult
}

// Answer is an agent's answer to a request at the end of the scenario.
type Answer struct {
	Agent, Region string
	Key           int
	At            int64
	OK            bool
	Resource      string
}

// stamp is the last write of a row.
type stamp struct {
	version, at int64 // at: time of the region's clock
	truly       int64 // true time
	region      int
	row         lease.Row
}

func (h *History) mark(name string) { h.Marks[name]++ }

// settings records a write of settings.
func (h *History) settings(id rowID, version int64) {
	if h.set == nil {
		h.set = map[rowID]int64{}
	}
	h.set[id] = max(h.set[id], version)
}

// fail ends the run with an error.
func (h *History) fail(err error) {
	if h.Broken == nil {
		h.Broken = err
	}
}

func (h *History) wrote(r *region, id rowID, wr *lease.Write, before, after *item) {
	if h.newest == nil {
		h.newest = map[rowID]stamp{}
	}
	last := h.newest[id]
	w := Write{
		At: r.w.now, Region: r.id, Row: id, Name: r.w.rowName(id), Rule: wr.Rule.Name, Before: before.Row, After: after.Row,
		Newest: last.version,
	}
	for i, other := range r.w.regions {
		if last.row.Owner == regionNames[i] && other.items[id].Row.Version == last.version {
			w.Owner = last.row.Owner
		}
	}
	if last.region != r.id && last.version > 0 {
		w.Ahead = last.at - after.stamp
	}
	h.newest[id] = stamp{after.Version, after.stamp, r.w.now, r.id, after.Row}
	h.Writes = append(h.Writes, w)
	switch wr.Rule.Name {
	case "transfer", "liberate", "supersede", "reinstate", "repoint":
		h.mark(wr.Rule.Name)
	case "release":
		if wr.Args.Available > 0 && after.Owner != "" {
			h.mark("release")
		}
	default:
	}
}

// use adds a use and returns its number, starting at 1.
func (h *History) use(u Use) int {
	h.Uses = append(h.Uses, u)
	return len(h.Uses)
}

// finish records the final state.
func (w *simulation) finish() {
	for _, r := range w.regions {
		w.h.Rows = append(w.h.Rows, r.items)
	}
	for _, e := range w.executors {
		for _, row := range slices.SortedFunc(maps.Keys(e.rows), cmpPrimary) {
			for _, j := range e.rows[row] {
				if j.c.DecidedMs < epoch+w.s.end()-5000 {
					w.h.Left = append(w.h.Left, fmt.Sprintf("%s has not carried out: %s", e.name, commandText(j.c)))
				}
			}
		}
	}
	t := w.tasks[2]
	for _, k := range slices.Sorted(maps.Keys(t.tables[tableTransfers])) {
		f := &balancerpb.Transfer{}
		if err := proto.Unmarshal(t.tables[tableTransfers][k], f); err != nil {
			w.h.fail(err)
			return
		}
		w.h.Transfers = append(w.h.Transfers, f)
	}
}

func cmpPrimary(a, b lease.PrimaryKey) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Sort, b.Sort))
}
