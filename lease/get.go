package lease

// Get is the machine that gets the lease of a key: the one there is, or a new one. Start it with Begin, carry out each Step
// and answer it with Next until the step is Done, Exhausted or WaitUntil; after the latter begin again. Its zero value
// with Until set is ready. It is a value without pointers: package model compares them.
type Get struct {
	Until int64 // wanted end of a new lease

	state     getStep
	own       Row // our region's key row, as last seen
	candidate Candidate
	// otherGrant is another region's lease of the key that was live when ours was found pending.
	otherGrant Grant
}

type getStep uint8

const (
	getKeys   getStep = iota // reading
	getPick                  // for a key row that is none, over, or whose candidate is gone
	getClaim                 // any write that makes the key row pending
	getTake                  // the candidate
	getRenew                 // our own resource, near or after its end
	getExtend                // its key row; also after a helper found the resource taken
	getRevive                // a superseded row whose winner is over
)

// Begin gives the first step.
func (g *Get) Begin(*Params, int64) Step { return g.read() }

func (g *Get) read() Step {
	g.state = getKeys
	return Step{Action: ReadKeys}
}

// Next gives the step after what was seen.
func (g *Get) Next(t *Params, in Observation) Step {
	switch g.state {
	case getKeys:
		g.own = in.Keys[t.Region]
		return g.decide(t, in)
	case getPick:
		if !in.OK {
			return Step{Action: Exhausted}
		}
		if g.Until <= in.Now+t.Skew { // picking took too long: nobody would get it
			return Step{Action: Lost, Why: LossEnded}
		}
		g.candidate = in.Pick
		return g.claim(t, in.Now)
	case getClaim:
		return g.onClaimed(t, in)
	case getTake:
		return g.onTaken(t, in)
	case getRenew:
		return g.onRenewed(t, in)
	default: // getExtend, getRevive
		if g.own = in.Row; !in.OK || !g.own.Live(in.Now, t.Skew) {
			return g.read()
		}
		return Step{Action: Done, Lease: grant(t.Region, &g.own)}
	}
}

// decide looks at the key's rows, our own being g.own.
func (g *Get) decide(t *Params, in Observation) Step {
	own, now := &g.own, in.Now
	g.otherGrant = Grant{}
	over := own.Version == 0 || own.Over(now, t.Skew)
	switch {
	case own.Live(now, t.Skew):
		return Step{Action: Done, Lease: grant(t.Region, own)}
	case own.State == Pending && own.Expires > now+t.Skew:
		g.candidate = Candidate{own.Resource, own.ResourceVersion}
		if region, ok := winningRegion(in.Keys, t, now); ok {
			row := in.Keys[region]
			g.otherGrant = grant(region, &row)
		}
		return g.take(t, now)
	case own.State == Superseded && !over:
		return g.followWinner(t, in)
	}
	if region, ok := winningRegion(in.Keys, t, now); ok {
		row := in.Keys[region]
		return Step{Action: Done, Lease: grant(region, &row)}
	}
	switch {
	case g.Until <= now+t.Skew:
		return Step{Action: Lost, Why: LossEnded}
	case own.State == Leased:
		g.state = getRenew
		return t.resourceStep(&t.Rules.Renew, now, own.Resource, Row{Version: own.ResourceVersion, Expires: max(g.Until, own.Expires)})
	case own.State == Released && !over:
		g.candidate = Candidate{own.Resource, own.ResourceVersion}
		return g.claim(t, now)
	case !over:
		return Step{Action: WaitUntil, Until: own.Expires + t.Skew + 1}
	}
	return g.pick()
}

// followWinner gives what a superseded row stands for: the winner's lease, or, when that is over, our own again.
func (g *Get) followWinner(t *Params, in Observation) Step {
	w, seen := in.Keys[g.own.Winner]
	switch {
	case w.Live(in.Now, t.Skew):
		return Step{Action: Done, Lease: grant(g.own.Winner, &w)}
	case !seen && g.own.Expires > in.Now+t.Skew: // it has not come here yet, and ours holds to its end
		l := grant(t.Region, &g.own)
		l.KeyVersion = 0 // it may not be renewed: that would make it the key's lease again
		return Step{Action: Done, Lease: l}
	}
	g.state = getRevive
	return t.keyStep(&t.Rules.Reinstate, in.Now, Row{Version: g.own.Version, State: Leased})
}

// winningRegion is the region other than ours whose lease of the key is to be used: by all the same one, which is not going to be superseded.
func winningRegion(keys map[string]Row, t *Params, now int64) (region string, ok bool) {
	for r, k := range keys {
		if r != t.Region && k.Live(now, t.Skew) && (!ok || GrantedBefore(r, k.Granted, region, keys[region].Granted)) {
			region, ok = r, true
		}
	}
	return region, ok
}

func (g *Get) pick() Step {
	g.state = getPick
	return Step{Action: Pick}
}

// claim makes the key row name g.cand.
func (g *Get) claim(t *Params, now int64) Step {
	g.state = getClaim
	args := Row{Version: g.own.Version, State: Pending, Resource: g.candidate.Resource, ResourceVersion: g.candidate.Version, Expires: g.Until}
	switch {
	case g.own.Version == 0:
		return t.keyStep(&t.Rules.Claim, now, args)
	case g.own.State == Pending && !g.own.Over(now, t.Skew):
		args.Expires = g.own.Expires
		return t.keyStep(&t.Rules.Repoint, now, args)
	case g.own.State == Released && !g.own.Over(now, t.Skew):
		args.Expires = max(g.Until, g.own.Expires) // others use it until then
		return t.keyStep(&t.Rules.Repoint, now, args)
	default:
		return t.keyStep(&t.Rules.Reclaim, now, args)
	}
}

func (g *Get) onClaimed(t *Params, in Observation) Step {
	if g.own = in.Row; !in.OK || g.own.Expires <= in.Now+t.Skew { // or the claim took too long
		return g.read()
	}
	return g.take(t, in.Now)
}

func (g *Get) take(t *Params, now int64) Step {
	g.state = getTake
	return t.resourceStep(&t.Rules.Take, now, g.candidate.Resource, Row{Version: g.candidate.Version, Holder: t.Holder, Expires: g.own.Expires})
}

// onTaken goes on after an attempt to take the candidate, ours or that of whoever we help.
func (g *Get) onTaken(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	case in.OK:
		if r.Expires <= in.Now+t.Skew {
			return g.read()
		}
		return Step{Action: Done, Lease: Grant{
			Resource: g.candidate.Resource, Region: t.Region, Token: r.Version, KeyVersion: g.own.Version, Expires: r.Expires, Unsettled: true,
		}}
	case r.Holder == t.Holder && r.Owner == t.Region: // somebody was faster with the same candidate
		return g.extend(t, in.Now, &t.Rules.Settle, g.candidate.Resource, r)
	case g.otherGrant.Expires > in.Now+t.Skew: // the candidate is gone for good, and the key is leased in another region
		return Step{Action: Done, Lease: g.otherGrant}
	default: // its version is over: it will never be taken at it
		return g.pick()
	}
}

// extend makes the key row say what the resource row does.
func (g *Get) extend(t *Params, now int64, rule *Rule, resource string, r *Row) Step {
	g.state = getExtend
	return t.extend(rule, now, g.own.Version, resource, r)
}

// onRenewed goes on after an attempt to lengthen a lease of our own that is near its end or over, and not given away yet.
func (g *Get) onRenewed(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	case in.OK, r.Holder == t.Holder && r.Owner == t.Region && r.Expires > in.Now+t.Skew: // now, or before, and its key row was not told
		return g.extend(t, in.Now, &t.Rules.Extend, g.own.Resource, r)
	case !g.own.Over(in.Now, t.Skew): // gone, but others may use it until its end
		return Step{Action: WaitUntil, Until: g.own.Expires + t.Skew + 1}
	default:
		return g.pick()
	}
}
