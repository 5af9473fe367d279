package replay

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
)

// ErrTick is wrapped by the errors about a tick that no pacing has written.
var ErrTick = errors.New("replay: invalid tick")

// Bounds of a tick. Those of budgets are below them.
const (
	maxNodes = 1 << 20
	maxDepth = 16
)

// Config is the configuration of a replay. Its zero value works.
type Config struct {
	// Controller is a rule whose decisions are computed beside the recorded ones, from the first
	// tick on. Defaults to none.
	Controller control.Controller
}

// Account replays the ticks of one account. It is not safe for use by several goroutines.
type Account struct {
	pacer *control.Pacer // of the recorded rule
	other *control.Pacer // of Config.Controller; nil: none
	whole bool           // the nodes are known
	next  uint32         // number of the next tick
	part  *eventspb.AccountTick

	currency string

	// Tick is the last one that was replayed.
	Tick *eventspb.AccountTick
	// Nodes are those after the last tick, in the order of the recording.
	Nodes []Node
	Stats
}

// Stats are the numbers of a replay.
type Stats struct {
	Ticks   int // that were replayed
	Skipped int // that were not: no whole tick came before, or ticks in between are missing
	States  int // states in whole ticks that were compared with the replayed ones
	Wrong   int // of them, those that differ by more than Tolerance
}

// Add adds the numbers of another replay.
func (s *Stats) Add(o Stats) {
	s.Ticks += o.Ticks
	s.Skipped += o.Skipped
	s.States += o.States
	s.Wrong += o.Wrong
}

// New returns a replay without ticks.
func New(cfg Config) *Account {
	a := &Account{}
	if cfg.Controller != nil {
		a.other = control.NewPacer(control.Config{Controller: cfg.Controller})
	}
	return a
}

// Currency returns the currency of all amounts: an ISO 4217 code.
func (a *Account) Currency() string { return a.currency }

// Add replays the next tick, which the caller does not use from then on. It returns false if the
// tick is not complete yet, or is skipped: then Nodes are those of before. After an error they are
// of no use, and ticks are skipped until the next whole one.
func (a *Account) Add(t *eventspb.AccountTick) (ok bool, err error) {
	defer func() {
		if err != nil {
			a.whole, a.part = false, nil
		}
	}()
	if t, err = a.join(t); t == nil {
		return false, err
	}
	follows := a.whole && t.GetNumber() == a.next
	// The first messages of a whole tick may be before the begin of what is read.
	begins := t.GetWhole() && (len(t.GetNodes()) == 0 || t.GetNodes()[0].GetNode() == 0)
	if !follows && !begins {
		a.whole = false
		a.Skipped++
		return false, nil
	}
	if a.next = t.GetNumber() + 1; t.GetWhole() {
		before := a.Nodes
		if err := a.begin(t); err != nil {
			return false, err
		}
		a.compare(before, t, follows)
	}
	if err := a.observe(t); err != nil {
		return false, err
	}
	a.step(t)
	a.Tick = t
	a.Ticks++
	return true, nil
}

// join returns a tick with the nodes of all its messages, nil until they are there.
func (a *Account) join(t *eventspb.AccountTick) (*eventspb.AccountTick, error) {
	if p := a.part; p != nil && p.GetNumber() == t.GetNumber() && p.GetAtMs() == t.GetAtMs() {
		p.Nodes = append(p.Nodes, t.GetNodes()...)
		p.More = t.GetMore()
	} else {
		a.part = t
	}
	switch {
	case len(a.part.GetNodes()) > maxNodes:
		return nil, fmt.Errorf("%w: more than %d nodes", ErrTick, maxNodes)
	case a.part.GetMore():
		return nil, nil
	}
	t, a.part = a.part, nil
	return t, nil
}

// unknown returns the error of a controller that this version of weir does not have.
func unknown(controller string) error {
	return fmt.Errorf("%w: the controller %q is not known: replay it with the version of weir that has written it", ErrTick, controller)
}

// begin takes the nodes of a whole tick.
func (a *Account) begin(t *eventspb.AccountTick) error {
	rule, ok := control.Named(t.GetController())
	if !ok {
		return unknown(t.GetController())
	}
	if a.pacer == nil || a.pacer.Controller() != rule.Name() {
		a.pacer = control.NewPacer(control.Config{Controller: rule})
	}
	nodes := make([]Node, len(t.GetNodes()))
	for i, m := range t.GetNodes() {
		name := m.GetName()
		if name == nil || int(m.GetNode()) != i || int(name.GetAbove()) > len(nodes) {
			return fmt.Errorf("%w: node %d of a whole tick has the number %d, and the name %v", ErrTick, i, m.GetNode(), name)
		}
		nodes[i] = Node{
			Kind: name.GetKind(), ID: name.GetId(), Paced: m.GetState() != nil, Reason: control.Reason(m.GetReason()),
			above: int(name.GetAbove()) - 1, pacer: a.pacer,
		}
		if of := name.GetController(); of != "" {
			if _, ok := control.Named(of); !ok {
				return unknown(of)
			}
			nodes[i].pacer = a.pacer.With(of)
		}
	}
	for i := range nodes {
		depth := 0
		for up := nodes[i].above; up >= 0; up = nodes[up].above {
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: more than %d nodes are above node %d", ErrTick, maxDepth, i)
			}
		}
		if up := nodes[i].above; up >= 0 && nodes[i].Kind == eventspb.NodeKind_NODE_KIND_ARM {
			nodes[i].Campaign = nodes[up].ID
		}
	}
	a.Nodes, a.currency, a.whole = nodes, t.GetCurrency(), true
	return nil
}

// observe takes what has changed since the tick before.
func (a *Account) observe(t *eventspb.AccountTick) error {
	for i := range a.Nodes {
		a.Nodes[i].Cost, a.Nodes[i].Grown = 0, 0
	}
	for _, m := range t.GetNodes() {
		if int(m.GetNode()) >= len(a.Nodes) {
			return fmt.Errorf("%w: node %d of %d", ErrTick, m.GetNode(), len(a.Nodes))
		}
		n := &a.Nodes[m.GetNode()]
		n.Cost, n.Grown = m.GetCostMicros(), m.GetSpentMicros()
		if n.Spent += n.Grown; t.GetWhole() {
			n.Grown = n.Spent - n.before
		}
		if m.FlightMicros != nil {
			n.Flight = m.GetFlightMicros()
		}
		if m.BudgetMicros != nil {
			n.Budget = m.GetBudgetMicros()
		}
		if c := m.GetCondition(); c != nil {
			n.Limited, n.Override = control.Limits{Probability: c.GetLimited(), Bids: c.GetBidsLimited()}, c.OverrideProbability
			n.Peers = control.Peers{Count: int(c.GetPeers()), Log: c.GetPeersLog()}
		}
		if m.GetState() == nil {
			continue
		}
		if n.Pace = pack.Pace(m.GetState()); !n.Pace.Valid() || !n.Paced {
			return fmt.Errorf("%w: the state of node %d is out of its bounds, or it has no budget", ErrTick, m.GetNode())
		}
		n.otherPace.AtMs = min(n.otherPace.AtMs, n.Pace.AtMs)
	}
	if a.Tick != nil && a.Tick.GetBudgetDay() != t.GetBudgetDay() {
		for i := range a.Nodes {
			a.Nodes[i].Grown = a.Nodes[i].Spent
		}
	}
	return nil
}

// step steps the controllers.
func (a *Account) step(t *eventspb.AccountTick) {
	for i := range a.Nodes {
		n := &a.Nodes[i]
		n.own = control.Unlimited()
		if n.Paced {
			o, day, was := n.observation(t), n.Pace.Day, n.Reason
			n.Pace, n.own, n.Reason = n.pacer.Step(n.Pace, o)
			n.Reason = n.Reason.Continued(was, n.Pace.Day == day)
			if a.other != nil {
				n.otherPace, n.Other, _ = a.other.Step(n.otherPace, o)
			}
		} else {
			n.Reason = ""
		}
		if n.Override != nil {
			n.own = n.own.Override(*n.Override)
			if !n.Paced {
				n.Reason = control.OverrideReason(*n.Override)
			}
		}
	}
	for i := range a.Nodes {
		a.limit(&a.Nodes[i])
	}
}

// limit sets the parameters of a node to the least of its own and of those above it.
func (a *Account) limit(n *Node) {
	n.Params, n.LimitedBy = n.own, nil
	for up := n.above; up >= 0; up = a.Nodes[up].above {
		p := control.Least(n.Params, a.Nodes[up].own)
		if p != n.Params && n.Params.Open { // what has closed the gate is the limit, whatever is above it
			n.LimitedBy = &a.Nodes[up]
		}
		n.Params = p
	}
}
