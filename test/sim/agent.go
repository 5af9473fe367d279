package sim

import (
	"math/rand/v2"

	"github.com/weirhq/weir/lease"
)

// agent is a process with users in a region: it drives the machines of package lease as package agent does.
type agent struct {
	w      *simulation
	name   string
	region int
	off    int64
	rng    *rand.Rand
	life   int // a crash begins another
	keys   []holding

	candidates  []lease.Candidate
	readMs      int64
	quarantine  int64 // of the pool, as last read
	readPool    int64
	writeLeases [len(regionNames)]writeLease

	refused    map[int]int64 // when each key was counted
	unreported int64
	reporting  bool
}

// holding is what an agent knows of a key.
type holding struct {
	busy  bool
	has   bool
	grant lease.Grant
	use   int // in the history, plus one; 0: none
}

const (
	agentTimeout  = 2000
	giveUpAfter   = 8000 // after which users give up
	candidateTTL  = 5000
	poolTTL       = 3000
	refusalWindow = 60_000
)

func (w *simulation) newAgent(i int) *agent {
	a := &agent{w: w, region: i % w.s.Regions, keys: make([]holding, w.s.Keys), refused: map[int]int64{}}
	a.name = "agent" + string(rune('A'+i))
	a.rng = w.newRand(a.name)
	a.off = w.off(a.rng)
	a.schedule()
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
	a.w.transcribe(a.name, "crashes")
	a.life++
	a.off = a.w.off(a.rng)
	clear(a.keys)
	a.candidates, a.unreported, a.reporting = nil, 0, false
}

// op is a machine at work.
type op struct {
	a      *agent
	what   string
	life   int
	key    int
	region int // whose rows are written
	m      stateMachine
	terms  lease.Params
	step   lease.Step
	giveUp int64
	tries  int
	steps  int
	finish func(step lease.Step, answered bool)
}

// stateMachine is one of package lease's.
type stateMachine interface {
	Begin(t *lease.Params, now int64) lease.Step
	Next(t *lease.Params, seen lease.Observation) lease.Step
}

// run begins to drive a machine. finish is called unless the agent crashes.
func (a *agent) run(what string, key, region int, m stateMachine, finish func(step lease.Step, answered bool)) {
	o := &op{a: a, what: what, life: a.life, key: key, region: region, m: m, giveUp: a.w.now + giveUpAfter, finish: finish}
	o.terms = a.terms(key, region)
	o.begin()
}

func (a *agent) terms(key, region int) lease.Params {
	if a.w.now > a.readPool+poolTTL || a.quarantine == 0 {
		if s := a.w.regions[a.region].items[a.w.poolRow()].settings; s.version > 0 {
			a.quarantine, a.readPool = s.quarantine, a.w.now
		} else {
			a.quarantine = a.w.s.Quarantine
		}
	}
	return lease.Params{
		Rules: a.w.rules, Region: regionNames[region], Holder: lease.Holder(pool, keyName(key)), Skew: a.w.s.Skew, Quarantine: a.quarantine,
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
	switch o.step.Action {
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
		}, func() { o.seen(lease.Observation{Keys: rows}) })
	case lease.Pick:
		o.pick()
	case lease.WriteKey, lease.WriteResource:
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
	a.w.ask(a.rng, call{from: a.region, to: a.w.regions[region], timeout: agentTimeout / 3, late: a.w.maxDelay(), do: do, done: func(answered bool) {
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
	if !a.checkWriteLease(o.region) {
		o.finish(o.step, false)
		return
	}
	id := a.w.keyRow(o.key, o.region)
	if s.Action == lease.WriteResource {
		id = rowID(numbered(s.Resource))
	}
	var row lease.Row
	var ok bool
	o.ask(o.region, func() {
		row, _, ok = a.w.regions[o.region].write(id, &s.Write, s.Write.Now)
		if a.w.transcript != nil {
			a.w.transcribe(a.name, "%s %s: %s %s", o.what, keyName(o.key), a.w.describe(id, &s.Write), writeOutcome(row, ok))
		}
	}, func() { o.seen(lease.Observation{Row: row, OK: ok}) })
}

// checkWriteLease says whether a region's lease allows a write through it: our own, or another that has the lease.
func (a *agent) checkWriteLease(region int) bool {
	if a.w.wrong == "agent looks at its own region lease only" && region != a.region {
		return true
	}
	return a.writeLeases[region].allows(a.w, a.region, region, a.clock()+agentTimeout)
}

func (o *op) seen(seen lease.Observation) {
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
		o.seen(lease.Observation{OK: true, Pick: c})
		return
	}
	var found []lease.Candidate
	o.ask(a.region, func() { found = a.w.regions[a.region].offered(a.clock()) }, func() {
		a.rng.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		if len(found) == 0 {
			o.seen(lease.Observation{})
			return
		}
		a.candidates, a.readMs = found[1:], a.w.now
		o.seen(lease.Observation{OK: true, Pick: found[0]})
	})
}

// countRefusal counts a key that was refused, and tells the table about each second.
func (a *agent) countRefusal(key int) {
	a.w.h.mark("refused")
	if at, known := a.refused[key]; known && a.w.now-at < refusalWindow {
		return
	}
	a.refused[key] = a.w.now
	a.unreported++
	if !a.reporting {
		a.reporting = true
		a.reportRefusals(a.life)
	}
}

func (a *agent) reportRefusals(life int) {
	if life != a.life {
		return
	}
	if a.w.faults.off[a.region] {
		a.w.after(1000, func() { a.reportRefusals(life) })
		return
	}
	n := a.unreported
	if a.unreported = 0; n == 0 {
		a.reporting = false
		return
	}
	home, id := a.w.regions[a.region], a.w.demandRow(a.region)
	it := home.items[id]
	it.count += n
	home.put(id, it)
	a.w.after(1000, func() { a.reportRefusals(life) })
}
