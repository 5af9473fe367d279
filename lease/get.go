package lease

// Get is the state machine that obtains the lease of a key: the existing lease, or a new one. Set
// Until, call Begin, execute each Step and pass the result to Next, until the step is Done,
// Exhausted, Lost or WaitUntil. After WaitUntil, begin again. It is a value without pointers, so
// package model can compare states.
type Get struct {
	Until int64 // end of a new lease, Unix ms

	state     getStep
	own       Row // key row of this region, as last seen
	candidate Candidate
	// otherGrant is a valid lease of the key in another region, seen while the row here was
	// pending.
	otherGrant Grant
}

type getStep uint8

const (
	getKeys      getStep = iota // waits for the key's rows
	getPick                     // waits for a candidate: the key row is absent, ended, or its candidate is taken
	getClaim                    // waits for the write that makes the key row pending
	getTake                     // waits for the write that takes the candidate
	getRenew                    // waits for the renewal of the key's previous resource, near or after its end
	getExtend                   // waits for the key row that follows a renewal, or a resource taken by another process
	getReinstate                // waits for the key row of a superseded lease whose winner has ended
)

// Begin returns the first step.
func (g *Get) Begin(*Params, int64) Step { return g.read() }

func (g *Get) read() Step {
	g.state = getKeys
	return Step{Action: ReadKeys}
}

// Next returns the step that follows the result of the last one.
func (g *Get) Next(t *Params, in Observation) Step {
	switch g.state {
	case getKeys:
		g.own = in.Keys[t.Region]
		return g.decide(t, in)
	case getPick:
		if !in.OK {
			return Step{Action: Exhausted}
		}
		if g.Until <= in.Now+t.Skew { // picking took so long that the lease would have no usable time
			return Step{Action: Lost, Loss: LossEnded}
		}
		g.candidate = in.Pick
		return g.claim(t, in.Now)
	case getClaim:
		return g.onClaimed(t, in)
	case getTake:
		return g.onTaken(t, in)
	case getRenew:
		return g.onRenewed(t, in)
	default: // getExtend, getReinstate
		if g.own = in.Row; !in.OK || !g.own.Live(in.Now, t.Skew) {
			return g.read()
		}
		return Step{Action: Done, Lease: grant(t.Region, &g.own)}
	}
}

// decide chooses the next step from the key's rows of all regions.
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
		return Step{Action: Lost, Loss: LossEnded}
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

// followWinner handles a superseded row: it returns the winner's lease or, if that has ended,
// reinstates the own lease.
func (g *Get) followWinner(t *Params, in Observation) Step {
	w, seen := in.Keys[g.own.Winner]
	switch {
	case w.Live(in.Now, t.Skew):
		return Step{Action: Done, Lease: grant(g.own.Winner, &w)}
	case !seen && g.own.Expires > in.Now+t.Skew: // the winner's row has not arrived yet, and the own lease lasts until its end
		l := grant(t.Region, &g.own)
		l.KeyVersion = 0 // prevents a renewal, which would make it the key's lease again
		return Step{Action: Done, Lease: l}
	}
	g.state = getReinstate
	return t.keyStep(&t.Rules.Reinstate, in.Now, Row{Version: g.own.Version, State: Leased})
}

// winningRegion returns the other region whose valid lease of the key was granted first. All
// callers choose the same one, and it is the one that will not be superseded.
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

// claim writes a pending key row that names g.candidate.
func (g *Get) claim(t *Params, now int64) Step {
	g.state = getClaim
	args := Row{
		Version: g.own.Version, State: Pending, Resource: g.candidate.Resource, ResourceVersion: g.candidate.Version, Expires: g.Until,
	}
	switch {
	case g.own.Version == 0:
		return t.keyStep(&t.Rules.Claim, now, args)
	case g.own.State == Pending && !g.own.Over(now, t.Skew):
		args.Expires = g.own.Expires
		return t.keyStep(&t.Rules.Repoint, now, args)
	case g.own.State == Released && !g.own.Over(now, t.Skew):
		args.Expires = max(g.Until, g.own.Expires) // other users of the key may use the resource until then
		return t.keyStep(&t.Rules.Repoint, now, args)
	default:
		return t.keyStep(&t.Rules.Reclaim, now, args)
	}
}

func (g *Get) onClaimed(t *Params, in Observation) Step {
	if g.own = in.Row; !in.OK || g.own.Expires <= in.Now+t.Skew { // lost to another process, or the claim took too long
		return g.read()
	}
	return g.take(t, in.Now)
}

func (g *Get) take(t *Params, now int64) Step {
	g.state = getTake
	return t.resourceStep(&t.Rules.Take, now, g.candidate.Resource,
		Row{Version: g.candidate.Version, Holder: t.Holder, Expires: g.own.Expires})
}

// onTaken handles the result of the attempt to take the candidate.
func (g *Get) onTaken(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	case in.OK:
		if r.Expires <= in.Now+t.Skew {
			return g.read()
		}
		return Step{Action: Done, Lease: Grant{
			Resource: g.candidate.Resource, Region: t.Region, Token: r.Version, KeyVersion: g.own.Version, Expires: r.Expires,
			Unsettled: true,
		}}
	case r.Holder == t.Holder && r.Owner == t.Region: // another process took the same candidate for the key
		return g.extend(t, in.Now, &t.Rules.Settle, g.candidate.Resource, r)
	case g.otherGrant.Expires > in.Now+t.Skew: // the candidate is taken, and the key has a lease in another region
		return Step{Action: Done, Lease: g.otherGrant}
	default: // the row has passed the candidate's version, so it will never be taken at that version
		return g.pick()
	}
}

// extend copies the end and the version of the resource row to the key row.
func (g *Get) extend(t *Params, now int64, rule *Rule, resource string, r *Row) Step {
	g.state = getExtend
	return t.extend(rule, now, g.own.Version, resource, r)
}

// onRenewed handles the result of the attempt to renew a lease of this region that is near or past
// its end and was not freed yet.
func (g *Get) onRenewed(t *Params, in Observation) Step {
	r := &in.Row
	switch {
	case in.OK, r.Holder == t.Holder && r.Owner == t.Region && r.Expires > in.Now+t.Skew: // renewed now, or before without its key row
		return g.extend(t, in.Now, &t.Rules.Extend, g.own.Resource, r)
	case !g.own.Over(in.Now, t.Skew): // taken by another key, but users of this key may use it until the end
		return Step{Action: WaitUntil, Until: g.own.Expires + t.Skew + 1}
	default:
		return g.pick()
	}
}
