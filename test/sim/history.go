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

// History is what happened in a run, for Judge and for people.
type History struct {
	Scenario   *Scenario
	Transcript string
	Events     int
	Marks      map[string]int // rare things that are to happen sometimes, and how often they did
	Broken     error          // a core or the simulator itself gave up: nothing may
	Rejects    []string       // records that a core refused: none may be

	Writes     []Write
	Uses       []Use
	Commands   []Command
	Results    []Result
	Answers    []Answer
	Headroom   map[string]*eventspb.LeaseHeadroom // by region, the last
	Duplicates map[string]string                  // state by key, the last
	Transfers  []*balancerpb.Transfer
	Rows       [][]item // at the end, by region
	Left       []string // of the executors, at the end: commands that wait

	newest map[rowID]stamp
	set    map[rowID]int64 // the greatest version of each row of settings that was written
}

// Write is a write of the protocol that was made.
type Write struct {
	At            int64
	Region        int
	Row           rowID
	Name          string
	Rule          string
	Before, After lease.Row
	Newest        int64  // version that the row had by the last write anywhere
	Owner         string // whose it was by that write, if that region had heard of it
	Ahead         int64  // by how much the clock that wrote that one is ahead of this one's; the last writer wins
}

// Use is that users of a key use a resource, by the true time: until their deadline, a crash of the agent notwithstanding.
type Use struct {
	Agent            string
	Key              int
	Resource, Region string
	From, Until      int64
}

// Command is one that a core committed.
type Command struct {
	At     int64
	Region int
	Is     *eventspb.LeaseCommand
}

// Result is what an executor said of a command.
type Result struct {
	At     int64
	Offset int
	Region int
	Is     *eventspb.LeaseResult
}

// Answer is what an agent was told in the end.
type Answer struct {
	Agent, Region string
	Key           int
	At            int64
	OK            bool
	Resource      string
}

// stamp is a row's last write.
type stamp struct {
	version, at int64 // at: by the clock of the region
	truly       int64 // by the true time
	region      int
	row         lease.Row
}

func (h *History) mark(name string) { h.Marks[name]++ }

// settings notes that settings were written.
func (h *History) settings(id rowID, version int64) {
	if h.set == nil {
		h.set = map[rowID]int64{}
	}
	h.set[id] = max(h.set[id], version)
}

// fail ends the run.
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
		At: r.w.now, Region: r.id, Row: id, Name: r.w.rowName(id), Rule: wr.Rule.Name, Before: before.Row, After: after.Row, Newest: last.version,
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

// use adds a use and gives its number, from 1 on.
func (h *History) use(u Use) int {
	h.Uses = append(h.Uses, u)
	return len(h.Uses)
}

// finish looks at how the world is in the end.
func (w *simulation) finish() {
	for _, r := range w.regions {
		w.h.Rows = append(w.h.Rows, r.items)
	}
	for _, e := range w.executors {
		for _, row := range slices.SortedFunc(maps.Keys(e.rows), cmpPrimary) {
			for _, j := range e.rows[row] {
				if j.c.DecidedMs < epoch+w.s.end()-5000 {
					w.h.Left = append(w.h.Left, fmt.Sprintf("%s has not done: %s", e.name, commandText(j.c)))
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
