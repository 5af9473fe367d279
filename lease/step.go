package lease

// Candidate is a resource that may be available: an entry of the index, at its version.
type Candidate struct {
	Resource string
	Version  int64
}

// Action is what a state machine asks its caller to do next.
type Action uint8

// The actions.
const (
	ReadKeys      Action = iota // read the key's rows of all regions, by a consistent read in the caller's region
	Pick                        // find a candidate for which Rules.Offered holds
	WriteKey                    // make Step.Write on the key row of Step.Region
	WriteResource               // make Step.Write on the row of Step.Resource, at the endpoint of Step.Region
	WaitUntil                   // wait until Step.Until, then begin again
	Done                        // end: Step.Lease is the result
	Exhausted                   // end: there is no candidate and the key has no lease
	Lost                        // end: the lease is lost, for the reason Step.Loss
)

// Step is an action with its arguments.
type Step struct {
	Action   Action
	Region   string
	Resource string
	Write    Write
	Until    int64
	Lease    Grant
	Loss     LossReason
}

// Grant is a lease, as the state machines know it.
type Grant struct {
	Resource   string
	Region     string // region that owns the resource row and the key row
	Token      int64  // version of the resource row; later leases of the resource have greater ones
	KeyVersion int64  // version of the key row, as last seen
	Expires    int64
	// Unsettled is true while the key row is pending. SettleStep ends that. It may be cleared only
	// when that write was acknowledged: a released lease with a pending key row looks like one that
	// never began.
	Unsettled bool
}

// LossReason is the reason why a lease was lost.
type LossReason uint8

// The losses.
const (
	NotLost        LossReason = iota
	LossReleased              // another user of the key released it
	LossEnded                 // it ended
	LossSuperseded            // another region's lease of the key is valid
	LossStale                 // another holder renewed it: there is a greater token
)

// Observation is the result of a step: the present time and what was found.
type Observation struct {
	Now  int64
	OK   bool           // the write was made; a candidate was found
	Row  Row            // the row after the write, or the row whose condition failed
	Keys map[string]Row // result of ReadKeys, by region
	Pick Candidate
}

// Params are the parameters of all state machines of one key in one region. Times are milliseconds.
type Params struct {
	Rules      *Rules
	Region     string
	Holder     string
	Skew       int64
	Quarantine int64
}

// grant returns the lease of a key row.
func grant(region string, k *Row) Grant {
	return Grant{Resource: k.Resource, Region: region, Token: k.ResourceVersion, KeyVersion: k.Version, Expires: k.Expires}
}

func (t *Params) write(r *Rule, now int64, args Row) Write {
	return Write{Rule: r, Args: args, Now: now, Skew: t.Skew}
}

func (t *Params) keyStep(r *Rule, now int64, args Row) Step {
	return Step{Action: WriteKey, Region: t.Region, Write: t.write(r, now, args)}
}

// extend copies the end and the version of the resource row r to the key row.
func (t *Params) extend(rule *Rule, now, version int64, resource string, r *Row) Step {
	return t.keyStep(rule, now, Row{Version: version, State: Leased, Resource: resource, ResourceVersion: r.Version, Expires: r.Expires})
}

// onHealed handles the result of completing half of a renewal: the resource row r was newer than
// the lease l. If the key row was written, l is the renewed lease; otherwise next is the next step.
func (t *Params) onHealed(l *Grant, r *Row, in Observation) (next Step, whole bool) {
	k := &in.Row
	switch {
	case in.OK:
		*l = grant(t.Region, k)
		return Step{}, true
	case k.isSameLease(l): // another process settled the row
		return t.extend(&t.Rules.Extend, in.Now, k.Version, l.Resource, r), false
	default:
		return Step{Action: Lost, Loss: k.loss(l.Resource)}, false
	}
}

func (t *Params) resourceStep(r *Rule, now int64, resource string, args Row) Step {
	return Step{Action: WriteResource, Region: t.Region, Resource: resource, Write: t.write(r, now, args)}
}

// SettleStep returns the step that ends the pending state of a lease that was just taken. No call
// waits for it, because a process that finds the key row pending reads the resource row.
func (t *Params) SettleStep(g Grant, now int64) Step {
	return t.keyStep(&t.Rules.Settle, now,
		Row{Version: g.KeyVersion, State: Leased, Resource: g.Resource, ResourceVersion: g.Token, Expires: g.Expires})
}
