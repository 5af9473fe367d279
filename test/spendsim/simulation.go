package spendsim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/stream"
)

const (
	epochMs   = int64(1_767_600_000_000) // 2026-01-05 08:00 UTC
	budgetDay = 20260105
	account   = "acme"
	price     = 10_000 // micros of a click: 0.01 USD
	refunded  = "refunded"
	usd       = "USD"
)

// simulation is a run.
type simulation struct {
	s        *Scenario
	mutation Mutation
	rng      *rand.Rand
	now      int64
	dcs      []*datacentre
	faults   *faults
	history  *History
	clicks   int
	truth    [policies]int // clicks that were served
}

// datacentre has the topics and processes of one datacentre.
type datacentre struct {
	events, adjustments log
	waiting             []delivery // of ad servers to their brokers
	mirrors             []*mirror
	counter             *counter
	counterDown         int64 // until when
	pushes              []*push
	reader              *reader
	answer              answer // that the ad servers have
}

// delivery is a record that an ad server hands to its brokers.
type delivery struct {
	at         int64
	event      *eventspb.AdEvent
	adjustment *eventspb.Adjustment
}

// History is what a run leaves.
type History struct {
	Scenario   *Scenario
	Violations []Violation
	// Over and Starved are the overspend and the clicks that were not served although the budget
	// was not used up, by policy, in seconds of the campaign's traffic.
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
	w := &simulation{s: s, mutation: m, rng: rand.New(rand.NewPCG(s.Seed, 1))}
	w.history = &History{Scenario: s, Marks: map[string]int{}}
	w.faults = &faults{w: w}
	w.build()
	var served [policies]int
	for w.now = 0; w.now < endMs; w.now += stepMs {
		w.faults.begin()
		if w.now >= beginMs && w.now < endMs-15_000 { // at the end all settles
			w.serve(&served)
		}
		for i := range w.dcs {
			w.append(i)
		}
		for i, d := range w.dcs {
			w.stepMirrors(i, d)
		}
		for i, d := range w.dcs {
			w.stepCounter(i, d)
		}
		if w.now%1000 == 0 {
			w.stepReaders()
		}
		if len(w.history.Violations) > 0 {
			return w.history
		}
	}
	w.checkEnd()
	for p := range policies {
		w.history.Over[p] = max(0, w.seconds(served[p]-s.Budget))
		w.history.Starved[p] = w.seconds(int(w.history.Starved[p]))
	}
	return w.history
}

// seconds converts clicks to seconds of the traffic of a campaign.
func (w *simulation) seconds(clicks int) float64 {
	return float64(clicks) / (w.s.Rate * float64(w.s.DCs))
}

func (w *simulation) build() {
	n := w.s.DCs
	for range n {
		w.dcs = append(w.dcs, &datacentre{events: log{topic: events.EventsTopic}, adjustments: log{topic: events.AdjustmentsTopic}})
	}
	for i, d := range w.dcs {
		d.counter = newCounter(w, i)
		for o := range w.dcs {
			if o == i {
				continue
			}
			d.mirrors = append(d.mirrors,
				&mirror{
					w: w, origin: o, to: i, source: &w.dcs[o].events, copies: log{topic: events.CopiedEventsTopic(names[o])}, previous: -1,
					lost: map[int64]bool{},
				},
				&mirror{
					w: w, origin: o, to: i, source: &w.dcs[o].adjustments, copies: log{topic: events.CopiedAdjustmentsTopic(names[o])},
					previous: -1, adjustments: true,
				})
		}
		d.reader = &reader{w: w, dc: i, datasets: []*copied{{w: w, dc: i, source: &d.counter.dataset, rows: map[string][]byte{}}}}
		d.reader.start()
	}
	for i, d := range w.dcs {
		d.counter.open()
		for k := 1; k <= min(2, n-1); k++ {
			p := &push{w: w, from: d.counter, to: (i + k) % n}
			d.pushes = append(d.pushes, p)
			to := w.dcs[p.to].reader
			to.datasets = append(to.datasets, &copied{w: w, dc: i, source: &p.copies, rows: map[string][]byte{}})
		}
	}
}

// wall is the clock of a datacentre.
func (w *simulation) wall(dc int) int64 { return epochMs + w.now + w.s.Skew[dc] }

// latency is the time that a message takes between two datacentres.
func (w *simulation) latency(a, b int) int64 { return int64(50 + 40*(a+b)) }

// arrivedAfter reports whether a record is not yet there for readers.
func (w *simulation) arrivedAfter(l *log, offset int64) bool {
	i := l.from(offset)
	return l.entries[i].at > w.now
}

func (w *simulation) fail(checker, format string, args ...any) {
	w.history.Violations = append(w.history.Violations, Violation{checker, fmt.Sprintf(format, args...), w.now})
}

// decode reads a message that the counter or an ad server has written.
func (w *simulation) decode(value []byte, m proto.Message) {
	if err := proto.Unmarshal(value, m); err != nil {
		w.fail("ERROR", "%v", err)
	}
}

// poisson draws a number with a small mean.
func (w *simulation) poisson(mean float64) (n int) {
	for p, limit := w.rng.Float64(), math.Exp(-mean); p > limit; p *= w.rng.Float64() {
		n++
	}
	return n
}

// serve draws the clicks of a step. The ad servers serve a campaign while the spend that they have
// read is below the budget.
func (w *simulation) serve(served *[policies]int) {
	for dc, d := range w.dcs {
		for p := range policies {
			n := w.poisson(w.s.Rate * stepMs / 1000)
			if stops := p != own && d.answer.mode == selection.FailSafe; stops || d.answer.spent[p] >= int64(w.s.Budget)*price {
				if served[p] < w.s.Budget {
					w.history.Starved[p] += float64(min(n, w.s.Budget-served[p]))
				}
				continue
			}
			served[p] += n
			for range n {
				w.click(dc, p.String())
			}
		}
		for range w.poisson(w.s.Rate * stepMs / 1000) {
			w.click(dc, refunded)
		}
		if w.rng.IntN(20) == 0 {
			d.waiting = append(d.waiting, delivery{at: w.now, adjustment: &eventspb.Adjustment{
				ReferenceId: fmt.Sprintf("r%d-%d", dc, w.now), Account: account, Campaign: refunded, Micros: 1 + w.rng.Int64N(price),
				Currency: usd, BudgetDay: budgetDay, ServingDc: names[w.rng.IntN(w.s.DCs)], IngestMs: w.wall(dc),
			}})
		}
	}
	if w.now%5000 == 0 { // a campaign with one click
		w.click(w.rng.IntN(w.s.DCs), fmt.Sprintf("single-%d", w.now))
	}
	w.truth = *served
}

// click hands a click to the brokers of a datacentre, mostly the one that served the ad, sometimes
// twice.
func (w *simulation) click(serving int, campaign string) {
	w.clicks++
	e := &eventspb.AdEvent{
		EventId: fmt.Sprintf("e%d", w.clicks), Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: account, Campaign: campaign,
		PriceMicros: price, Currency: usd, BudgetDay: budgetDay, EventMs: w.wall(serving), ServingDc: names[serving],
	}
	times := 1
	if w.rng.IntN(40) == 0 {
		times = 2
	}
	for i := range times {
		to := serving
		if w.s.Cross && w.rng.IntN(10) == 0 {
			to = w.rng.IntN(w.s.DCs)
		}
		copied, at := proto.CloneOf(e), w.now+w.rng.Int64N(400)+int64(i)*w.rng.Int64N(3000)
		copied.IngestMs = epochMs + at + w.s.Skew[to]
		w.dcs[to].waiting = append(w.dcs[to].waiting, delivery{at: at, event: copied})
	}
}

// append writes what waits to the logs of a datacentre.
func (w *simulation) append(dc int) {
	d := w.dcs[dc]
	if w.faults.on(StopKafka, dc) {
		return
	}
	if w.now%1000 == 0 && !w.faults.on(StopMirror, dc) {
		d.events.add(w.now, stream.Record{TimeMs: w.wall(dc), Value: events.AppendEvent(nil, &eventspb.AdEvent{
			Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT, IngestMs: w.wall(dc),
		})})
		d.events.skip(1) // the marker
	}
	if w.rng.IntN(50) == 0 {
		d.events.skip(2) // an aborted transaction
	}
	keep := d.waiting[:0]
	for _, x := range d.waiting {
		switch {
		case x.at > w.now:
			keep = append(keep, x)
		case x.event != nil:
			d.events.add(w.now, stream.Record{TimeMs: w.wall(dc), Value: events.AppendEvent(nil, x.event)})
		default:
			value, err := proto.Marshal(x.adjustment)
			if err != nil {
				w.fail("ERROR", "%v", err)
			}
			d.adjustments.add(w.now, stream.Record{TimeMs: w.wall(dc), Value: value})
		}
	}
	d.waiting = keep
}

func (w *simulation) stepMirrors(dc int, d *datacentre) {
	if w.faults.on(StopMirror, dc) || w.faults.on(StopKafka, dc) {
		return
	}
	for _, m := range d.mirrors {
		if !w.faults.on(StopKafka, m.origin) && w.connected(dc, m.origin) {
			m.step(w.faults.on(AbortMirror, dc) && w.rng.IntN(5) > 0)
		}
	}
}

func (w *simulation) stepCounter(dc int, d *datacentre) {
	c := d.counter
	if w.faults.on(StopKafka, dc) || w.faults.on(StopCounter, dc) || w.now < d.counterDown {
		if c.real != nil && w.faults.on(StopCounter, dc) {
			c.crash(true)
		}
	} else {
		most := 100
		if w.faults.on(SlowCounter, dc) {
			most = 1
		}
		dies := w.faults.on(KillCounter, dc) && w.rng.IntN(5) == 0
		if c.step(most, dies); dies {
			c.crash(w.rng.IntN(3) > 0)
			d.counterDown = w.now + w.rng.Int64N(3000)
			w.history.Marks["counter killed"]++
		}
	}
	if w.now%1000 != 0 || w.faults.on(StopPush, dc) || w.faults.on(StopKafka, dc) {
		return
	}
	for _, p := range d.pushes {
		if w.connected(dc, p.to) && !w.faults.on(StopKafka, p.to) {
			before := w.now
			if w.faults.on(SlowPush, dc) {
				before -= 4000 + w.rng.Int64N(3000)
			}
			p.step(before)
		}
	}
}

// stepReaders lets each reader follow and evaluate, and the ad servers read.
func (w *simulation) stepReaders() {
	for dc, d := range w.dcs {
		r := d.reader
		if w.faults.on(StopReader, dc) && w.rng.IntN(4) == 0 {
			r.down = w.now + w.rng.Int64N(4000)
			r.start()
		}
		if w.now < r.down {
			continue
		}
		if !w.faults.on(StopKafka, dc) {
			r.follow()
		}
		r.evaluate()
	}
	for dc, d := range w.dcs {
		if (w.now/1000+int64(dc))%2 == 0 {
			w.read(dc, d)
		}
	}
}

// read is what a client does: it asks the reader of its datacentre, and that of the next one if the
// answer is not in normal mode, or there is none.
func (w *simulation) read(dc int, d *datacentre) {
	away := w.now < d.reader.down
	if !away {
		d.answer = d.reader.answer
	}
	next := (dc + 1) % w.s.DCs
	other := w.dcs[next].reader
	if (away || d.answer.mode != selection.Normal) && w.connected(dc, next) && w.now >= other.down && other.answer.mode <= d.answer.mode {
		ours := d.answer.spent[own]
		d.answer = other.answer
		d.answer.spent[own] = ours // the policy reads nothing else
		w.history.Marks["fallback"]++
	}
}

// connected reports whether there are connections between two datacentres.
func (w *simulation) connected(a, b int) bool {
	cut := func(from, to int) bool { return w.faults.on(CutLink, from) && (from+1)%w.s.DCs == to }
	return !cut(a, b) && !cut(b, a)
}

// faults are the active faults of a run.
type faults struct {
	w     *simulation
	wiped [len(names)]bool
}

// on reports whether a datacentre has a fault now.
func (f *faults) on(k FaultKind, dc int) bool {
	for i := range f.w.s.Faults {
		if x := &f.w.s.Faults[i]; x.Kind == k && x.DC == dc && x.From <= f.w.now && f.w.now < x.To {
			return true
		}
	}
	return false
}

// begin carries out the faults that happen once.
func (f *faults) begin() {
	for dc, d := range f.w.dcs {
		if on := f.on(WipeCounter, dc); on && !f.wiped[dc] {
			d.counter.wipe()
			f.wiped[dc] = true
		}
	}
}
