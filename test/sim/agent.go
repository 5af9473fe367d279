package sim

import (
	"math/rand/v2"

	"github.com/weirhq/weir/lease"
)

// agent is a process with users in a region: it drives the machines of package lease as package agent does.
type agent struct {
	w      *world
	name   string
	region int
	off    int64
	dice   *rand.Rand
	life   int // a crash begins another
	keys   []holding

	candidates []lease.Candidate
	readMs     int64
	quarantine int64 // of the pool, as last read
	readPool   int64
	limits     [len(regionNames)]limit

	refused   map[int]int64 // when each key was counted
	untold    int64
	reporting bool
}

// holding is what an agent knows of a key.
type holding struct {
	busy  bool
	has   bool
	grant lease.Grant
	use   int // in the history, plus one; 0: none
}

const (
	agentTimeout = 2000
	patience     = 8000 // after which users give up
	candidateTTL = 5000
	poolTTL      = 3000
	refusalOnce  = 60_000
)

func (w *world) newAgent(i int) *agent {
	a := &agent{w: w, region: i % w.s.Regions, keys: make([]holding, w.s.Keys), refused: map[int]int64{}}
	a.name = "agent" + string(rune('A'+i))
	a.dice = w.dice(a.name)
	a.off = w.off(a.dice)
	a.live()
	return a
}

func (a *agent) clock() int64 { return a.w.now + a.off }

// crash loses what the process knows. Its users use what they were told of to the end all the same.
func (a *agent) crash() {
	for i := range a.keys {
		if a.keys[i].busy {
			a.w.h.mark("agent crashed at work")
		}
	}
	a.w.tell(a.name, "crashes")
	a.life++
	a.off = a.w.off(a.dice)
	clear(a.keys)
	a.candidates, a.untold, a.reporting = nil, 0, false
}

// op is a machine at work.
type op struct {
	a      *agent
	what   string
	life   int
	key    int
	region int // whose rows are written
	m      machine
	terms  lease.Terms
	step   lease.Step
	giveUp int64
	tries  int
	steps  int
	finish func(step lease.Step, answered bool)
}

// machine is one of package lease's.
type machine interface {
	Begin(t *lease.Terms, now int64) lease.Step
	Next(t *lease.Terms, seen lease.Seen) lease.Step
}

// run begins to drive a machine. finish is called unless the agent crashes.
func (a *agent) run(what string, key, region int, m machine, finish func(step lease.Step, answered bool)) {
	o := &op{a: a, what: what, life: a.life, key: key, region: region, m: m, giveUp: a.w.now + patience, finish: finish}
	o.terms = a.terms(key, region)
	o.begin()
}

func (a *agent) terms(key, region int) lease.Terms {
	if a.w.now > a.readPool+poolTTL || a.quarantine == 0 {
		if s := a.w.regions[a.region].items[a.w.poolRow()].settings; s.version > 0 {
			a.quarantine, a.readPool = s.quarantine, a.w.now
		} else {
			a.quarantine = a.w.s.Quarantine
		}
	}
	return lease.Terms{
		Rules: a.w.rules, Region: regionNames[region], Key: lease.Holder(pool, keyName(key)), Skew: a.w.s.Skew, Quarantine: a.quarantine,
	}
}

func (o *op) begin() {
	if o.life == o.a.life {
		o.step = o.m.Begin(&o.terms, o.a.clock())
		o.do()
	}
}

// do carries out the step.
func (o *op) do() {
	a := o.a
	if o.steps++; a.w.now > o.giveUp || o.steps > 200 {
		o.finish(o.step, false)
		return
	}
	switch o.step.Do {
	case lease.ReadKeys:
		rows := map[string]lease.Row{}
		o.ask(a.region, func() {
			clear(rows)
			for r := range a.w.s.Regions {
				if x := a.w.regions[a.region].items[a.w.keyRow(o.key, r)]; x.Row.Version > 0 {
					x.Row.Granted = x.granted
					rows[regionNames[r]] = x.Row
				}
			}
		}, func() { o.seen(lease.Seen{Keys: rows}) })
	case lease.Pick:
		o.pick()
	case lease.WriteKey, lease.WriteRes:
		o.write()
	case lease.WaitUntil:
		at := o.step.Until - a.off // a time of the agent's clock
		if at > o.giveUp {
			o.finish(o.step, false)
			return
		}
		a.w.after(at-a.w.now, o.begin)
	default:
		o.finish(o.step, true)
	}
}

// ask makes a request, three times at most.
func (o *op) ask(region int, do, done func()) {
	a := o.a
	a.w.ask(a.dice, call{from: a.region, to: a.w.regions[region], timeout: agentTimeout / 3, late: a.w.late(), do: do, done: func(answered bool) {
		switch {
		case o.life != a.life:
		case answered:
			o.tries = 0
			done()
		default:
			if o.tries++; o.tries < 3 {
				o.ask(region, do, done)
				return
			}
			o.finish(o.step, false)
		}
	}})
}

func (o *op) write() {
	a, s := o.a, o.step
	if !a.mayWrite(o.region) {
		o.finish(o.step, false)
		return
	}
	id := a.w.keyRow(o.key, o.region)
	if s.Do == lease.WriteRes {
		id = rowID(numbered(s.Resource))
	}
	var row lease.Row
	var ok bool
	o.ask(o.region, func() {
		row, _, ok = a.w.regions[o.region].write(id, &s.Write, s.Write.Now)
		if a.w.story != nil {
			a.w.tell(a.name, "%s %s: %s %s", o.what, keyName(o.key), a.w.describe(id, &s.Write), told(row, ok))
		}
	}, func() { o.seen(lease.Seen{Row: row, OK: ok}) })
}

// mayWrite says whether a region's lease allows a write through it: our own, or another that has the lease.
func (a *agent) mayWrite(region int) bool {
	if a.w.wrong == "agent looks at its own region lease only" && region != a.region {
		return true
	}
	return a.limits[region].allows(a.w, a.region, region, a.clock()+agentTimeout)
}

func (o *op) seen(seen lease.Seen) {
	seen.Now = o.a.clock()
	o.step = o.m.Next(&o.terms, seen)
	o.do()
}

// pick gives a candidate of those that were read a while ago, or reads.
func (o *op) pick() {
	a := o.a
	if a.w.now > a.readMs+candidateTTL {
		a.candidates = nil
	}
	if n := len(a.candidates); n > 0 {
		c := a.candidates[n-1]
		a.candidates = a.candidates[:n-1]
		o.seen(lease.Seen{OK: true, Pick: c})
		return
	}
	var found []lease.Candidate
	o.ask(a.region, func() { found = a.w.regions[a.region].offered(a.clock()) }, func() {
		a.dice.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		if len(found) == 0 {
			o.seen(lease.Seen{})
			return
		}
		a.candidates, a.readMs = found[1:], a.w.now
		o.seen(lease.Seen{OK: true, Pick: found[0]})
	})
}

// countRefusal counts a key that was refused, and tells the table about each second.
func (a *agent) countRefusal(key int) {
	a.w.h.mark("refused")
	if at, known := a.refused[key]; known && a.w.now-at < refusalOnce {
		return
	}
	a.refused[key] = a.w.now
	a.untold++
	if !a.reporting {
		a.reporting = true
		a.tellRefusals(a.life)
	}
}

func (a *agent) tellRefusals(life int) {
	if life != a.life {
		return
	}
	if a.w.faults.off[a.region] {
		a.w.after(1000, func() { a.tellRefusals(life) })
		return
	}
	n := a.untold
	if a.untold = 0; n == 0 {
		a.reporting = false
		return
	}
	home, id := a.w.regions[a.region], a.w.demandRow(a.region)
	it := home.items[id]
	it.count += n
	home.put(id, it)
	a.w.after(1000, func() { a.tellRefusals(life) })
}
