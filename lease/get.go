package lease

// Get is the machine that gets the lease of a key: the one there is, or a new one. Start it with Begin, carry out each Step
// and answer it with Next until the step is Done, Exhausted or WaitUntil; after the latter begin again. Its zero value
// with Until set is ready. It is a value without pointers: package model compares them.
type Get struct {
	Until int64 // wanted end of a new lease

	at   getStep
	own  Row // our region's key row, as last seen
	cand Candidate
	// elsewhere is another region's lease of the key that was live when ours was found pending.
	elsewhere Grant
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
func (g *Get) Begin(*Terms, int64) Step { return g.read() }

func (g *Get) read() Step {
	g.at = getKeys
	return Step{Do: ReadKeys}
}

// Next gives the step after what was seen.
func (g *Get) Next(t *Terms, in Seen) Step {
	switch g.at {
	case getKeys:
		g.own = in.Keys[t.Region]
		return g.decide(t, in)
	case getPick:
		if !in.OK {
			return Step{Do: Exhausted}
		}
		if g.Until <= in.Now+t.Skew { // picking took too long: nobody would get it
			return Step{Do: Lost, Why: LossEnded}
		}
		g.cand = in.Pick
		return g.claim(t, in.Now)
	case getClaim:
		return g.claimed(t, in)
	case getTake:
		return g.taken(t, in)
	case getRenew:
		return g.renewed(t, in)
	default: // getExtend, getRevive
		if g.own = in.Row; !in.OK || !g.own.Live(in.Now, t.Skew) {
			return g.read()
		}
		return Step{Do: Done, Lease: grant(t.Region, &g.own)}
	}
}

// decide looks at the key's rows, our own being g.own.
func (g *Get) decide(t *Terms, in Seen) Step {
	own, now := &g.own, in.Now
	g.elsewhere = Grant{}
	over := own.Version == 0 || own.Over(now, t.Skew)
	switch {
	case own.Live(now, t.Skew):
		return Step{Do: Done, Lease: grant(t.Region, own)}
	case own.State == Pending && own.Expires > now+t.Skew:
		g.cand = Candidate{own.Resource, own.At}
		if region, ok := best(in.Keys, t, now); ok {
			row := in.Keys[region]
			g.elsewhere = grant(region, &row)
		}
		return g.take(t, now)
	case own.State == Superseded && !over:
		return g.yield(t, in)
	}
	if region, ok := best(in.Keys, t, now); ok {
		row := in.Keys[region]
		return Step{Do: Done, Lease: grant(region, &row)}
	}
	switch {
	case g.Until <= now+t.Skew:
		return Step{Do: Lost, Why: LossEnded}
	case own.State == Leased:
		g.at = getRenew
		return t.onResource(&t.Rules.Renew, now, own.Resource, Row{Version: own.At, Expires: max(g.Until, own.Expires)})
	case own.State == Released && !over:
		g.cand = Candidate{own.Resource, own.At}
		return g.claim(t, now)
	case !over:
		return Step{Do: WaitUntil, Until: own.Expires + t.Skew + 1}
	}
	return g.pick()
}

// yield gives what a superseded row stands for: the winner's lease, or, when that is over, our own again.
func (g *Get) yield(t *Terms, in Seen) Step {
	w, seen := in.Keys[g.own.Winner]
	switch {
	case w.Live(in.Now, t.Skew):
		return Step{Do: Done, Lease: grant(g.own.Winner, &w)}
	case !seen && g.own.Expires > in.Now+t.Skew: // it has not come here yet, and ours holds to its end
		l := grant(t.Region, &g.own)
		l.KeyVersion = 0 // it may not be renewed: that would make it the key's lease again
		return Step{Do: Done, Lease: l}
	}
	g.at = getRevive
	return t.onKey(&t.Rules.Reinstate, in.Now, Row{Version: g.own.Version, State: Leased})
}

// best is the region other than ours whose lease of the key is to be used: by all the same one, which is not going to be superseded.
func best(keys map[string]Row, t *Terms, now int64) (region string, ok bool) {
	for r, k := range keys {
		if r != t.Region && k.Live(now, t.Skew) && (!ok || Wins(r, k.Granted, region, keys[region].Granted)) {
			region, ok = r, true
		}
	}
	return region, ok
}

func (g *Get) pick() Step {
	g.at = getPick
	return Step{Do: Pick}
}

// claim makes the key row name g.cand.
func (g *Get) claim(t *Terms, now int64) Step {
	g.at = getClaim
	args := Row{Version: g.own.Version, State: Pending, Resource: g.cand.Resource, At: g.cand.At, Expires: g.Until}
	switch {
	case g.own.Version == 0:
		return t.onKey(&t.Rules.Claim, now, args)
	case g.own.State == Pending && !g.own.Over(now, t.Skew):
		args.Expires = g.own.Expires
		return t.onKey(&t.Rules.Repoint, now, args)
	case g.own.State == Released && !g.own.Over(now, t.Skew):
		args.Expires = max(g.Until, g.own.Expires) // others use it until then
		return t.onKey(&t.Rules.Repoint, now, args)
	default:
		return t.onKey(&t.Rules.Reclaim, now, args)
	}
}

func (g *Get) claimed(t *Terms, in Seen) Step {
	if g.own = in.Row; !in.OK || g.own.Expires <= in.Now+t.Skew { // or the claim took too long
		return g.read()
	}
	return g.take(t, in.Now)
}

func (g *Get) take(t *Terms, now int64) Step {
	g.at = getTake
	return t.onResource(&t.Rules.Take, now, g.cand.Resource, Row{Version: g.cand.At, Key: t.Key, Expires: g.own.Expires})
}

// taken goes on after an attempt to take the candidate, ours or that of whoever we help.
func (g *Get) taken(t *Terms, in Seen) Step {
	r := &in.Row
	switch {
	case in.OK:
		if r.Expires <= in.Now+t.Skew {
			return g.read()
		}
		return Step{Do: Done, Lease: Grant{
			Resource: g.cand.Resource, Region: t.Region, Token: r.Version, KeyVersion: g.own.Version, Expires: r.Expires, Settle: true,
		}}
	case r.Key == t.Key && r.Owner == t.Region: // somebody was faster with the same candidate
		return g.extend(t, in.Now, &t.Rules.Settle, g.cand.Resource, r)
	case g.elsewhere.Expires > in.Now+t.Skew: // the candidate is gone for good, and the key is leased in another region
		return Step{Do: Done, Lease: g.elsewhere}
	default: // its version is over: it will never be taken at it
		return g.pick()
	}
}

// extend makes the key row say what the resource row does.
func (g *Get) extend(t *Terms, now int64, rule *Rule, resource string, r *Row) Step {
	g.at = getExtend
	return t.extend(rule, now, g.own.Version, resource, r)
}

// renewed goes on after an attempt to lengthen a lease of our own that is near its end or over, and not given away yet.
func (g *Get) renewed(t *Terms, in Seen) Step {
	r := &in.Row
	switch {
	case in.OK, r.Key == t.Key && r.Owner == t.Region && r.Expires > in.Now+t.Skew: // now, or before, and its key row was not told
		return g.extend(t, in.Now, &t.Rules.Extend, g.own.Resource, r)
	case !g.own.Over(in.Now, t.Skew): // gone, but others may use it until its end
		return Step{Do: WaitUntil, Until: g.own.Expires + t.Skew + 1}
	default:
		return g.pick()
	}
}
