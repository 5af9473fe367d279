package spendsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter"
)

// simulation is a run.
type simulation struct {
	s         *Scenario
	mutation  Mutation
	chance    *rand.Rand // of all but the traffic
	traffic   traffic
	now       int64
	dcs       []*datacentre
	faults    faults
	history   *History
	ledgers   map[string]*ledger // by campaign
	published []byte             // the tables of a dataset

	over, starved [policies]int // clicks
	oldest        time.Duration // age above fresh, of the oldest dataset that a reader has chosen
	marks         map[string]int
}

// datacentre has the topics and processes of one datacentre.
type datacentre struct {
	ring                int // number of datacentres that it knows; 0: it does not exist yet
	events, adjustments log
	order               order      // of events
	waiting             []delivery // of ad servers to their brokers
	mirrors             []*mirror
	counter             *counter
	pushes              []*push // by target; nil: none
	reader              *reader
	client              client
	alone               client // of the policy own
}

// History is what a run leaves.
type History struct {
	Scenario   *Scenario
	Violations []Violation
	// Over are the clicks that were served although the budget was used up, by policy. Starved are
	// those that were not served although it was not. Both are in seconds of the traffic of a
	// campaign.
	Over, Starved [policies]float64
	Marks         map[string]int // events that a run should have
}

// Violation is what a checker has found.
type Violation struct {
	Checker, What string
	At            int64 // ms
}

// Run runs a scenario with a mutation.
func Run(s *Scenario, m Mutation) *History {
	w := &simulation{
		s: s, mutation: m, chance: rand.New(rand.NewPCG(s.Seed, 1)), traffic: traffic{s: s, rng: rand.New(rand.NewPCG(s.Seed, 2))},
		ledgers: map[string]*ledger{}, published: spendcounter.DatasetTables(), marks: map[string]int{},
	}
	w.history = &History{Scenario: s, Marks: w.marks}
	w.faults = faults{w: w, begun: make([]bool, len(s.Faults)), stalled: make([]int64, len(s.Faults))}
	w.build()
	for w.now = 0; w.now < endMs && len(w.history.Violations) == 0; w.now += stepMs {
		w.step()
	}
	if len(w.history.Violations) == 0 {
		w.checkEnd()
	}
	for k, seen := range w.faults.seen {
		if seen {
			w.marks[FaultKind(k).String()]++
		}
	}
	for p := range policies {
		w.history.Over[p], w.history.Starved[p] = w.seconds(w.over[p]), w.seconds(w.starved[p])
	}
	return w.history
}

func (w *simulation) step() {
	w.join()
	w.faults.step()
	if w.now >= beginMs && w.now < quietMs {
		w.serve()
	}
	for i, d := range w.dcs {
		if d.ring > 0 {
			w.append(i)
		}
	}
	for i, d := range w.dcs {
		w.stepMirrors(i, d)
	}
	for i, d := range w.dcs {
		if d.ring > 0 {
			w.stepCounter(i, d)
			w.stepPushes(i, d)
		}
	}
	for i, d := range w.dcs {
		if d.ring > 0 && w.now%1000 == 0 {
			w.stepReader(i, d)
		}
	}
	for _, d := range w.dcs {
		if d.ring > 0 {
			d.client.step()
			d.alone.step()
		}
	}
}

// seconds converts clicks to seconds of the traffic of a campaign.
func (w *simulation) seconds(clicks int) float64 {
	return float64(clicks) / (w.s.Rate * float64(w.s.DCs))
}

func (w *simulation) build() {
	for i := range w.s.DCs {
		w.dcs = append(w.dcs, &datacentre{
			events: log{topic: events.EventsTopic}, adjustments: log{topic: events.AdjustmentsTopic}, counter: newCounter(w, i),
			pushes: make([]*push, w.s.DCs), reader: &reader{w: w, dc: i}, client: client{w: w, dc: i},
			alone: client{w: w, dc: i, alone: true},
		})
	}
	ring := w.s.DCs
	if w.s.JoinAt > 0 {
		ring--
	}
	for i := range ring {
		w.configure(i, ring)
	}
}

// joinEvery is the time in ms between two datacentres that get the new ring.
const joinEvery = 4000

// join gives the datacentres the ring with the new one, one after another, the new one first.
func (w *simulation) join() {
	for i := range w.s.DCs {
		if w.s.JoinAt > 0 && w.now == w.s.JoinAt+int64(i)*joinEvery {
			w.configure((w.s.DCs-1+i)%w.s.DCs, w.s.DCs)
			w.marks["datacentre added"]++
		}
	}
}

// configure begins the processes of a datacentre with a ring.
func (w *simulation) configure(dc, ring int) {
	d := w.dcs[dc]
	for o := range ring {
		if o != dc && !slices.ContainsFunc(d.mirrors, func(m *mirror) bool { return m.origin == o }) {
			d.mirrors = append(d.mirrors, newMirror(w, o, dc, false), newMirror(w, o, dc, true))
		}
	}
	d.ring = ring
	d.counter.configure()
	for to := range ring {
		if dc != to && slices.Contains(writers(to, ring), dc) {
			w.push(dc, to)
		}
	}
	d.reader.configure(ring)
}

// writers returns the datacentres whose datasets a datacentre has by a ring: its own, and those of
// the two before it.
func writers(dc, ring int) []int {
	list := []int{dc}
	for k := min(2, ring-1); k > 0; k-- {
		list = append(list, (dc+ring-k)%ring)
	}
	return list
}

// push returns the pusher from one datacentre to another one.
func (w *simulation) push(from, to int) *push {
	d := w.dcs[from]
	if d.pushes[to] == nil {
		d.pushes[to] = &push{w: w, from: d.counter, to: to}
	}
	return d.pushes[to]
}

// wall is the clock of a datacentre.
func (w *simulation) wall(dc int) int64 { return epochMs + w.now + w.s.Skew[dc] }

// latency is the time that a message takes between two datacentres.
func (w *simulation) latency(a, b int) int64 { return int64(50 + 40*(a+b)) }

func (w *simulation) fail(checker, format string, args ...any) {
	w.history.Violations = append(w.history.Violations, Violation{checker, fmt.Sprintf(format, args...), w.now})
}

// decode reads a message that a counter has written.
func (w *simulation) decode(value []byte, m proto.Message) {
	if err := proto.Unmarshal(value, m); err != nil {
		w.fail("ERROR", "%v", err)
	}
}

func (w *simulation) stepMirrors(dc int, d *datacentre) {
	if w.faults.on(StopMirror, dc) || w.faults.on(StopKafka, dc) {
		return
	}
	for _, m := range d.mirrors {
		if !w.faults.on(StopKafka, m.origin) && w.faults.connects(dc, m.origin) {
			m.step(w.faults.on(AbortMirror, dc) && w.chance.IntN(5) > 0)
		}
	}
}

func (w *simulation) stepCounter(dc int, d *datacentre) {
	c := d.counter
	if stopped := w.faults.on(StopCounter, dc); stopped || w.faults.on(StopKafka, dc) || w.now < c.down {
		if c.real != nil && stopped {
			c.crash(true)
		}
		return
	}
	most := 100
	if w.faults.on(SlowCounter, dc) {
		most = 1
	}
	dies := w.faults.on(KillCounter, dc) && w.chance.IntN(5) == 0
	if c.step(most, dies); dies {
		c.crash(w.chance.IntN(3) > 0)
		c.down = w.now + w.chance.Int64N(3000)
	}
}

func (w *simulation) stepPushes(dc int, d *datacentre) {
	if w.now%1000 != 0 || w.faults.on(StopPush, dc) || w.faults.on(StopKafka, dc) {
		return
	}
	for _, p := range d.pushes {
		if p == nil || !w.faults.connects(dc, p.to) || w.faults.on(StopKafka, p.to) {
			continue
		}
		before := w.now
		if w.faults.on(SlowPush, dc) {
			before -= 4000 + w.chance.Int64N(3000)
		}
		p.step(before)
	}
}

// stepReader lets a reader follow and evaluate.
func (w *simulation) stepReader(dc int, d *datacentre) {
	r := d.reader
	if w.faults.on(StopReader, dc) && w.chance.IntN(4) == 0 {
		r.down = w.now + w.chance.Int64N(4000)
		r.start(d.ring)
	}
	if w.now < r.down {
		return
	}
	reads := !w.faults.on(StopKafka, dc)
	if reads {
		r.follow()
	}
	r.evaluate(reads)
}
