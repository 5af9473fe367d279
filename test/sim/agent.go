package sim

import (
	"math/rand/v2"

	"github.com/weirhq/weir/lease"
)

// agent is a process with users in a region: it runs the machines of package lease as package agent
// does.
type agent struct {
	w      *simulation
	name   string
	region int
	off    int64
	rng    *rand.Rand
	life   int // number of restarts
	keys   []holding

	candidates  []lease.Candidate
	readMs      int64
	quarantine  int64 // of the pool, as read last
	readPool    int64
	writeLeases [len(regionNames)]writeLease

	refused    map[int]int64 // time at which each key was counted
	unreported int64
	reporting  bool
}

// holding is the agent's memory of a key.
type holding struct {
	busy  bool
	has   bool
	grant lease.Grant
	use   int // number of the use in the history; 0 without a use
}

const (
	agentTimeout  = 2000
	giveUpAfter   = 8000 // limit of a user's request
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

// crash discards the agent's memory. Its users still use their leases until the deadlines.
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

// op is one run of a machine.
type op struct {
	a      *agent
	what   string
	life   int
	key    int
	region int // region whose rows are written
	m      stateMachine
	terms  lease.Params
	step   lease.Step
	giveUp int64
	tries  int
	steps  int
	finish func(step lease.Step, answered bool)
}

// stateMachine is a machine of package lease.
type stateMachine interface {
	Begin(t *lease.Params, now int64) lease.Step
	Next(t *lease.Params, seen lease.Observation) lease.Step
}

// run starts a machine. finish is called unless the agent crashes.
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

// do carries out the present step.
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
		at := o.step.Until - a.off // Until is a time of the agent's clock
		if at > o.giveUp {
			o.finish(o.step, false)
			return
		}
		a.w.after(at-a.w.now, o.begin)
	default:
		o.finish(o.step, true)
	}
}

// ask sends a request, at most three times.
func (o *op) ask(region int, do, done func()) {
	a := o.a
	a.w.ask(a.rng,
		call{from: a.region, to: a.w.regions[region], timeout: agentTimeout / 3, late: a.w.maxDelay(), do: do, done: func(answered bool) {
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

// checkWriteLease reports whether the write lease of a region allows a write through it.
func (a *agent) checkWriteLease(region int) bool {
	if a.w.mutation == "agent checks its own region's write lease only" && region != a.region {
		return true
	}
	return a.writeLeases[region].allows(a.w, a.region, region, a.clock()+agentTimeout)
}

func (o *op) seen(seen lease.Observation) {
	seen.Now = o.a.clock()
	o.step = o.m.Next(&o.terms, seen)
	o.do()
}

// pick returns a cached candidate, or reads candidates.
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

// countRefusal counts a refused key, and writes the count to the table about once a second.
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
