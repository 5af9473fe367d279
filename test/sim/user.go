package sim

import (
	"github.com/weirhq/weir/lease"
)

// schedule starts the requests of an agent's users. Until quietFrom a user requests a key now and
// then. Kept keys are then leased until after the end, and at the end all agents request them.
func (a *agent) schedule() {
	w := a.w
	var next func()
	next = func() {
		if w.time() >= w.s.quietFrom() {
			return
		}
		a.request()
		think := w.s.ThinkTime
		if (w.time()/9000+int64(a.region))%int64(w.s.Regions) == 0 { // demand moves from region to region
			think /= 3
		}
		w.after(1+a.rng.Int64N(2*think), next)
	}
	w.after(2000+a.rng.Int64N(2*w.s.ThinkTime), next)
	for k := range w.s.Keys {
		if kept(k) {
			a.keep(k, w.s.quietFrom()+1000+a.rng.Int64N(500))
		}
	}
	for _, at := range []int64{w.s.ask(), w.s.askAgain()} {
		w.after(at, func() {
			for k := range w.s.Keys {
				if kept(k) {
					a.askOnce(k, 3)
				}
			}
		})
	}
}

// kept reports whether a key is leased to the end.
func kept(key int) bool { return key%2 == 0 }

// keep leases a key until after the end. While the key is busy or has a shorter lease, it tries
// again later.
func (a *agent) keep(key int, at int64) {
	w := a.w
	w.after(at-w.time(), func() {
		h := &a.keys[key]
		switch end := epoch + w.s.end() + 5000; {
		case w.time() > w.s.quietFrom()+w.s.Lease+6000:
		case !h.busy && (!h.has || a.deadline(h) <= a.clock()):
			a.get(key, end)
			fallthrough
		default:
			a.keep(key, w.time()+500+a.rng.Int64N(500))
		}
	})
}

// askOnce requests a key without the agent's memory, and repeats the request if there is no answer.
func (a *agent) askOnce(key, tries int) {
	w := a.w
	if a.keys[key].busy {
		w.after(100, func() { a.askOnce(key, tries) })
		return
	}
	a.start(key)
	m := &lease.Get{Until: a.clock() + 2*a.w.s.Skew + 2000}
	a.run("ask", key, a.region, m, func(step lease.Step, answered bool) {
		a.keys[key].busy = false
		if !answered && tries > 1 {
			a.askOnce(key, tries-1)
			return
		}
		if answered {
			answer := Answer{Agent: a.name, Region: regionNames[a.region], Key: key, At: w.now, OK: step.Action == lease.Done}
			if answer.OK {
				answer.Resource = step.Lease.Resource
				a.hold(key, step.Lease)
				if step.Lease.Unsettled {
					a.settle(key, step.Lease)
				}
			}
			w.h.Answers = append(w.h.Answers, answer)
			w.transcribe(a.name, "requested %s at the end and has %q", keyName(key), answer.Resource)
		}
	})
}

// deadline returns the time, by the agent's clock, until which its users use a lease.
func (a *agent) deadline(h *holding) int64 {
	if a.w.mutation == "agent uses leases after their deadline" {
		return h.grant.Expires + a.w.s.quarantine() + 3000
	}
	return h.grant.Expires - a.w.s.Skew
}

func (a *agent) start(key int) { a.keys[key].busy = true }

// request is one request of a user.
func (a *agent) request() {
	w := a.w
	key := a.rng.IntN(w.s.Keys)
	share := 4
	if w.faults.inAnyRegion(Contention) {
		share = 1
	}
	if a.rng.IntN(share) == 0 { // the key that all users request now
		key = int(w.time()/2500) % w.s.Keys
	}
	h := &a.keys[key]
	if h.busy {
		return
	}
	until := a.clock() + 2*w.s.Skew + 1000 + a.rng.Int64N(w.s.Lease-1000)
	if !h.has || a.deadline(h) <= a.clock() {
		a.get(key, until)
		return
	}
	switch a.rng.IntN(10) {
	case 0, 1, 2, 3:
		a.renew(key, until)
	case 4, 5:
		a.release(key)
	case 6, 7:
		a.get(key, until)
	}
}

func (a *agent) get(key int, until int64) {
	a.start(key)
	a.run("get", key, a.region, &lease.Get{Until: until}, func(step lease.Step, answered bool) {
		h := &a.keys[key]
		h.busy = false
		switch {
		case !answered || step.Action == lease.Lost:
		case step.Action == lease.Exhausted:
			a.w.transcribe(a.name, "get %s: no resource is available", keyName(key))
			a.countRefusal(key)
		default:
			a.hold(key, step.Lease)
			if step.Lease.Unsettled {
				a.settle(key, step.Lease)
			}
		}
	})
}

// settle writes to the key row that the lease began, in the background.
func (a *agent) settle(key int, g lease.Grant) {
	if !a.checkWriteLease(a.region) {
		return
	}
	terms := a.terms(key, a.region)
	step := terms.SettleStep(g, a.clock())
	life, id := a.life, a.w.keyRow(key, a.region)
	var row lease.Row
	var ok bool
	a.w.ask(a.rng, call{from: a.region, to: a.w.regions[a.region], timeout: agentTimeout, late: a.w.maxDelay(), do: func() {
		row, _, ok = a.w.regions[a.region].write(id, &step.Write, 0)
		if a.w.transcript != nil {
			a.w.transcribe(a.name, "settle %s: %s %s", keyName(key), a.w.describe(id, &step.Write), writeOutcome(row, ok))
		}
	}, done: func(answered bool) {
		h := &a.keys[key]
		switch {
		case life != a.life || !h.has || h.grant.Token != g.Token || h.grant.Resource != g.Resource:
		case !answered && a.deadline(h) > a.clock(): // repeat until it is settled
			w := a.w
			w.after(500, func() {
				if life == a.life {
					a.settle(key, g)
				}
			})
		case answered && ok:
			h.grant.KeyVersion, h.grant.Unsettled = row.Version, false
		}
	}})
}

func (a *agent) renew(key int, until int64) {
	h := &a.keys[key]
	region := regionNumber(h.grant.Region)
	a.start(key)
	a.run("renew", key, region, &lease.Renew{Lease: h.grant, Until: until}, func(step lease.Step, answered bool) {
		h := &a.keys[key]
		switch h.busy = false; {
		case !answered: // the lease is valid until its deadline
		case step.Action == lease.Lost:
			a.drop(key)
		default:
			a.hold(key, step.Lease)
		}
	})
}

// release ends the use of a lease and then releases it.
func (a *agent) release(key int) {
	g := a.keys[key].grant
	a.drop(key)
	a.start(key)
	a.run("release", key, regionNumber(g.Region), &lease.Release{Lease: g}, func(lease.Step, bool) { a.keys[key].busy = false })
}

// hold records that the users of a key use a lease from now to its deadline.
func (a *agent) hold(key int, g lease.Grant) {
	h := &a.keys[key]
	if h.has && (h.grant.Resource != g.Resource || h.grant.Region != g.Region) {
		a.drop(key)
	}
	h.has, h.grant = true, g
	until := a.deadline(h) - a.off
	if until <= a.w.now {
		return
	}
	if h.use > 0 && a.w.h.Uses[h.use-1].Until > a.w.now {
		u := &a.w.h.Uses[h.use-1]
		u.Until = max(u.Until, until)
	} else {
		h.use = a.w.h.use(Use{Agent: a.name, Key: key, Resource: g.Resource, Region: g.Region, From: a.w.now, Until: until})
	}
	a.w.transcribe(a.name, "has %s for %s of %s, token %d, and uses it until %s", g.Resource, keyName(key), g.Region, g.Token,
		clock(until-epoch))
}

// drop ends the use of a key's lease.
func (a *agent) drop(key int) {
	h := &a.keys[key]
	if h.use > 0 {
		u := &a.w.h.Uses[h.use-1]
		u.Until = min(u.Until, a.w.now)
	}
	h.has, h.use = false, 0
}

func regionNumber(name string) int {
	for i, n := range regionNames {
		if n == name {
			return i
		}
	}
	return -1
}
