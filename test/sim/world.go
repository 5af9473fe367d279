package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/lease"
)

// epoch is when scenarios begin, Unix ms: all that is done at a time is done at that time after it.
const epoch int64 = 1_000_000_000

// What all is about: one pool, whose records are in one partition.
const (
	client = "acme"
	pool   = "numbers"
)

// simulation is a run.
type simulation struct {
	s     *Scenario
	wrong Mutation
	now   int64 // since 1970
	queue agenda
	seq   uint64

	rules      *lease.Rules
	regions    []*region
	agents     []*agent
	bridges    []*bridge
	executors  []*executor
	tasks      []*task
	topics     topics
	faults     faults
	home       int // the region that settings are written through, as all administrators know it but those of a home that was lost
	h          *History
	transcript *strings.Builder // nil: it is not told
}

// event is something that happens at a time; of those at one time the first to be planned is the first.
type event struct {
	at  int64
	seq uint64
	do  func()
}

type agenda []event

func (e agenda) Len() int { return len(e) }
func (e agenda) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e agenda) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *agenda) Push(x any) { *e = append(*e, x.(event)) } //nolint:errcheck // it holds events

// Pop implements heap.Interface.
func (e *agenda) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

// after plans something.
func (w *simulation) after(ms int64, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + max(0, ms), w.seq, do})
}

// each does something again and again, from a time to another and a bit more between two.
func (w *simulation) each(r *rand.Rand, least, more int64, do func()) {
	var again func()
	again = func() {
		do()
		w.after(least+r.Int64N(more+1), again)
	}
	w.after(r.Int64N(least+more+1), again)
}

// newRand are an actor's own: whatever others do, and whether they are there at all, it draws the same.
func (w *simulation) newRand(actor string) *rand.Rand {
	return rand.New(rand.NewPCG(w.s.Seed, xxhash.Sum64String(actor)+w.s.Reseed))
}

// off is by how much a clock is off: as much as it may be, every other time.
func (w *simulation) off(r *rand.Rand) int64 {
	switch r.IntN(4) {
	case 0:
		return -w.s.Skew
	case 1:
		return w.s.Skew
	default:
		return r.Int64N(2*w.s.Skew+1) - w.s.Skew
	}
}

// time is now in the scenario's time.
func (w *simulation) time() int64 { return w.now - epoch }

// transcribe writes a line of the transcript.
func (w *simulation) transcribe(who, format string, args ...any) {
	if w.transcript != nil {
		fmt.Fprintf(w.transcript, "%8s %-10s %s\n", clock(w.time()), who, fmt.Sprintf(format, args...))
	}
}

// Run runs a scenario with something wrong, or nothing: "". With story it also tells what happened.
func Run(s *Scenario, wrong Mutation, story bool) *History {
	w := &simulation{s: s, wrong: wrong, now: epoch, rules: lease.Protocol(), h: &History{Scenario: s, Marks: map[string]int{}}}
	if story {
		w.transcript = &strings.Builder{}
	}
	w.faults.w = w
	w.begin()
	for len(w.queue) > 0 && w.h.Broken == nil {
		e := heap.Pop(&w.queue).(event) //nolint:errcheck // it holds events
		if e.at > epoch+s.end() {
			break
		}
		w.now = e.at
		w.h.Events++
		e.do()
	}
	w.finish()
	if story {
		w.h.Transcript = w.transcript.String()
	}
	return w.h
}

func (w *simulation) begin() {
	mutate(w.wrong, w.rules)
	for i := range w.s.Regions {
		w.regions = append(w.regions, w.newRegion(i))
	}
	w.setUp()
	for i := range w.s.Regions {
		w.bridges = append(w.bridges, w.newBridge(i))
		w.executors = append(w.executors, w.newExecutor(i))
	}
	w.topics.commands = make([][]record, w.s.Regions)
	w.tasks = w.newTasks()
	for i := range w.s.Agents {
		w.agents = append(w.agents, w.newAgent(i))
	}
	w.faults.plan()
	w.renewWriteLeases()
}

// setUp registers the resources and writes the settings.
func (w *simulation) setUp() {
	r := w.newRand("stock")
	home := w.regions[w.home]
	home.put(w.homeRow(), item{})
	home.put(w.poolRow(), item{settings: settings{version: 1, quarantine: w.s.Quarantine, buckets: w.s.Buckets}})
	for i := range w.regions {
		home.put(w.regionRow(i), item{settings: settings{version: 1, state: "active"}})
	}
	first := r.IntN(w.s.Regions)
	for i := range w.s.Resources {
		at := first // most are in one region
		if r.IntN(3) == 0 {
			at = r.IntN(w.s.Regions)
		}
		wr := lease.Write{Rule: &w.rules.Register, Args: lease.Row{Owner: regionNames[at], Available: w.now}, Now: w.now, Skew: w.s.Skew}
		w.regions[at].write(rowID(i), &wr, 0)
	}
}
