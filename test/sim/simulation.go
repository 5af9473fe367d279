package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/lease"
)

// epoch is the start of every scenario, in Unix milliseconds. Scenario times are relative to it.
const epoch int64 = 1_000_000_000

// The only client and pool.
const (
	client = "acme"
	pool   = "numbers"
)

// simulation is one run of a scenario.
type simulation struct {
	s        *Scenario
	mutation Mutation
	now      int64 // Unix milliseconds
	queue    agenda
	seq      uint64

	rules      *lease.Rules
	regions    []*region
	agents     []*agent
	bridges    []*bridge
	executors  []*executor
	tasks      []*task
	topics     topics
	faults     faults
	home       int // the home region, as known to all administrators except those of a lost home region
	h          *History
	transcript *strings.Builder // nil without a transcript
}

// event is an action at a time. Events at the same time run in the order of seq.
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
func (e *agenda) Push(x any) { *e = append(*e, x.(event)) } //nolint:errcheck // the heap holds events only

// Pop implements heap.Interface.
func (e *agenda) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

// after schedules do in ms milliseconds.
func (w *simulation) after(ms int64, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + max(0, ms), w.seq, do})
}

// each repeats do, with a pause of least to least+more milliseconds.
func (w *simulation) each(r *rand.Rand, least, more int64, do func()) {
	var again func()
	again = func() {
		do()
		w.after(least+r.Int64N(more+1), again)
	}
	w.after(r.Int64N(least+more+1), again)
}

// newRand returns the random numbers of one actor. They do not depend on other actors.
func (w *simulation) newRand(actor string) *rand.Rand {
	return rand.New(rand.NewPCG(w.s.Seed, xxhash.Sum64String(actor)+w.s.Reseed))
}

// off draws the error of a clock. Half of the time it is the greatest error.
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

// time returns the present time of the scenario.
func (w *simulation) time() int64 { return w.now - epoch }

// transcribe appends a line to the transcript.
func (w *simulation) transcribe(who, format string, args ...any) {
	if w.transcript != nil {
		fmt.Fprintf(w.transcript, "%8s %-10s %s\n", clock(w.time()), who, fmt.Sprintf(format, args...))
	}
}

// Run runs a scenario with a mutation, or without one for "". transcript makes it write a
// transcript.
func Run(s *Scenario, mutation Mutation, transcript bool) *History {
	w := &simulation{s: s, mutation: mutation, now: epoch, rules: lease.Protocol(), h: &History{Scenario: s, Marks: map[string]int{}}}
	if transcript {
		w.transcript = &strings.Builder{}
	}
	w.faults.w = w
	w.begin()
	for len(w.queue) > 0 && w.h.Broken == nil {
		e := heap.Pop(&w.queue).(event) //nolint:errcheck // the heap holds events only
		if e.at > epoch+s.end() {
			break
		}
		w.now = e.at
		w.h.Events++
		e.do()
	}
	w.finish()
	if transcript {
		w.h.Transcript = w.transcript.String()
	}
	return w.h
}

func (w *simulation) begin() {
	mutate(w.mutation, w.rules)
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
		at := first // most resources are in one region
		if r.IntN(3) == 0 {
			at = r.IntN(w.s.Regions)
		}
		wr := lease.Write{Rule: &w.rules.Register, Args: lease.Row{Owner: regionNames[at], Available: w.now}, Now: w.now, Skew: w.s.Skew}
		w.regions[at].write(rowID(i), &wr, 0)
	}
}
