package lease

// Candidate is a resource that may be available: a row of the index, as it was at a version.
type Candidate struct {
	Resource string
	Version  int64
}

// Action is what a machine wants done next.
type Action uint8

// What can be asked for.
const (
	ReadKeys      Action = iota // the key's rows of all regions, by a consistent read of this region's table
	Pick                        // a candidate that is offered
	WriteKey                    // Step.Write on the key's row of Step.Region
	WriteResource               // Step.Write on the row of Step.Resource, at Step.Region's endpoint
	WaitUntil                   // Step.Until is past
	Done                        // Step.Lease is it
	Exhausted                   // no candidate; the key has no lease
	Lost                        // the lease is not the holder's any more: Step.Why
)

// Step is what a machine wants, with what is needed for it.
type Step struct {
	Action   Action
	Region   string
	Resource string
	Write    Write
	Until    int64
	Lease    Grant
	Why      Loss
}

// Grant is a lease as the protocol knows it.
type Grant struct {
	Resource   string
	Region     string // owner of both rows
	Token      int64  // version of the resource row: a later lease of the resource has a greater one
	KeyVersion int64  // of the key row, as last seen
	Expires    int64
	// Unsettled says that the key row is pending still; Settled says how to end that, when there is time. It may be cleared only
	// when that write was acknowledged: a lease that is given back unsettled is taken for one that never began.
	Unsettled bool
}

// Loss is why a lease is not the holder's any more.
type Loss uint8

// The losses.
const (
	NotLost        Loss = iota
	LossReleased        // somebody gave it back
	LossEnded           // it was over
	LossSuperseded      // another region's lease of the key won
	LossStale           // it was renewed by another holder: there is a greater token
)

// Observation answers a step: the time now and what was found.
type Observation struct {
	Now  int64
	OK   bool           // a write was made; there is a candidate
	Row  Row            // the row after the write, or the one that refused it
	Keys map[string]Row // by region, from ReadKeys
	Pick Candidate
}

// Params are what the machines of one key in one region have in common.
type Params struct {
	Rules      *Rules
	Region     string
	Holder     string
	Skew       int64
	Quarantine int64
}

// grant is the lease that a key row of a region promises.
func grant(region string, k *Row) Grant {
	return Grant{Resource: k.Resource, Region: region, Token: k.ResourceVersion, KeyVersion: k.Version, Expires: k.Expires}
}

func (t *Params) write(r *Rule, now int64, args Row) Write {
	return Write{Rule: r, Args: args, Now: now, Skew: t.Skew}
}

func (t *Params) keyStep(r *Rule, now int64, args Row) Step {
	return Step{Action: WriteKey, Region: t.Region, Write: t.write(r, now, args)}
}

// extend makes the key row say what the resource row does.
func (t *Params) extend(rule *Rule, now, version int64, resource string, r *Row) Step {
	return t.keyStep(rule, now, Row{Version: version, State: Leased, Resource: resource, ResourceVersion: r.Version, Expires: r.Expires})
}

// onHealed goes on after an attempt to say in the key row what the resource row r has, and the holder of l did not know: half of
// a renewal. If nobody had said it, l is the whole of it from now on; else next is to be done.
func (t *Params) onHealed(l *Grant, r *Row, in Observation) (next Step, whole bool) {
	k := &in.Row
	switch {
	case in.OK:
		*l = grant(t.Region, k)
		return Step{}, true
	case k.isSameLease(l): // settled meanwhile
		return t.extend(&t.Rules.Extend, in.Now, k.Version, l.Resource, r), false
	default:
		return Step{Action: Lost, Why: k.loss(l.Resource)}, false
	}
}

func (t *Params) resourceStep(r *Rule, now int64, resource string, args Row) Step {
	return Step{Action: WriteResource, Region: t.Region, Resource: resource, Write: t.write(r, now, args)}
}

// SettleStep is the step that ends the pending state of a lease that was just taken. Nothing waits for it: whoever finds the
// key row pending asks the resource row.
func (t *Params) SettleStep(g Grant, now int64) Step {
	return t.keyStep(&t.Rules.Settle, now, Row{Version: g.KeyVersion, State: Leased, Resource: g.Resource, ResourceVersion: g.Token, Expires: g.Expires})
}
