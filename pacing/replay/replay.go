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
	above *control.Hierarchy

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
	Wrong   int // of them, those that differ
}

// Add adds the numbers of another replay.
func (s *Stats) Add(o Stats) {
	s.Ticks += o.Ticks
	s.Skipped += o.Skipped
	s.States += o.States
	s.Wrong += o.Wrong
}

// Node is a shared budget, a campaign or an arm in a tick.
type Node struct {
	Kind     eventspb.NodeKind
	ID       string
	Campaign string // of an arm
	Paced    bool   // it has a budget of its own, and a controller

	// What the controller has seen. Amounts are micros.
	Budget, Spent int64
	Cost          float64
	Limited       bool
	Override      *float64 // probability by an operator, 0: stopped; nil: none
	Peers         control.Peers

	Pace   control.Pace   // after the step
	Reason control.Reason // of Pace; empty without a controller
	// Params are the least of its own and of those of the nodes above: what servers get.
	Params control.Params

	// Other is what Config.Controller had decided: its own parameters.
	Other control.Params

	otherPace control.Pace
}

// New returns a replay without ticks.
func New(cfg Config) *Account {
	a := &Account{}
	if cfg.Controller != nil {
		a.other = control.NewPacer(control.Config{Controller: cfg.Controller})
	}
	return a
}

// Add replays the next tick. It returns false if the tick is not complete yet, or is skipped: then
// Nodes are those of before. After an error, ticks are skipped until the next whole one.
func (a *Account) Add(t *eventspb.AccountTick) (ok bool, err error) {
	defer func() {
		if err != nil {
			a.whole, a.part = false, nil
		}
	}()
	if t = a.join(t); t == nil {
		return false, nil
	}
	follows := a.whole && t.GetNumber() == a.next
	if !follows && !t.GetWhole() {
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

// Currency returns the currency of all amounts: an ISO 4217 code.
func (a *Account) Currency() string { return a.currency }

// join returns a tick with the nodes of all its messages, nil until they are there.
func (a *Account) join(t *eventspb.AccountTick) *eventspb.AccountTick {
	if p := a.part; p != nil && p.GetNumber() == t.GetNumber() && p.GetAtMs() == t.GetAtMs() {
		p.Nodes = append(p.Nodes, t.GetNodes()...)
		p.More = t.GetMore()
	} else {
		a.part = t
	}
	if a.part.GetMore() {
		return nil
	}
	t, a.part = a.part, nil
	return t
}

// begin takes the nodes of a whole tick.
func (a *Account) begin(t *eventspb.AccountTick) error {
	rule, ok := control.Named(t.GetController())
	if !ok {
		return fmt.Errorf("%w: the controller %q is not known: replay it with the version of weir that has written it",
			ErrTick, t.GetController())
	}
	a.pacer = control.NewPacer(control.Config{Controller: rule})
	nodes, above := make([]Node, len(t.GetNodes())), make([][]int, len(t.GetNodes()))
	for i, m := range t.GetNodes() {
		name := m.GetName()
		if name == nil || int(m.GetNode()) != i {
			return fmt.Errorf("%w: node %d of a whole tick has the number %d, and the name %v", ErrTick, i, m.GetNode(), name)
		}
		nodes[i] = Node{Kind: name.GetKind(), ID: name.GetId(), Paced: m.GetState() != nil}
		if up := name.GetAbove(); up > 0 {
			above[i] = []int{int(up) - 1}
		}
	}
	h, err := control.NewHierarchy(above)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTick, err)
	}
	for i := range nodes {
		if nodes[i].Kind == eventspb.NodeKind_NODE_KIND_ARM && above[i] != nil {
			nodes[i].Campaign = nodes[above[i][0]].ID
		}
	}
	a.Nodes, a.above, a.currency, a.whole = nodes, h, t.GetCurrency(), true
	return nil
}

// key identifies a node from one whole tick to the next.
type key struct {
	kind         eventspb.NodeKind
	id, campaign string
}

// compare compares the states of a whole tick with those of the steps before, and takes over what
// the other rule remembers. follows is whether no tick is missing in between.
func (a *Account) compare(before []Node, t *eventspb.AccountTick, follows bool) {
	was := make(map[key]*Node, len(before))
	for i := range before {
		was[key{before[i].Kind, before[i].ID, before[i].Campaign}] = &before[i]
	}
	for i, m := range t.GetNodes() {
		n := &a.Nodes[i]
		o := was[key{n.Kind, n.ID, n.Campaign}]
		if o == nil || !o.Paced || !n.Paced {
			continue
		}
		if n.otherPace = o.otherPace; !follows || m.GetReplaced() {
			continue
		}
		a.States++
		if pack.Pace(m.GetState()) != o.Pace {
			a.Wrong++
		}
	}
}

// observe takes what has changed since the tick before.
func (a *Account) observe(t *eventspb.AccountTick) error {
	for i := range a.Nodes {
		a.Nodes[i].Cost = 0
	}
	for _, m := range t.GetNodes() {
		if int(m.GetNode()) >= len(a.Nodes) {
			return fmt.Errorf("%w: node %d of %d", ErrTick, m.GetNode(), len(a.Nodes))
		}
		n := &a.Nodes[m.GetNode()]
		n.Cost = m.GetCostMicros()
		if m.BudgetMicros != nil {
			n.Budget = m.GetBudgetMicros()
		}
		n.Spent += m.GetSpentMicros()
		if c := m.GetCondition(); c != nil {
			n.Limited, n.Override = c.GetLimited(), c.OverrideProbability
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
	return nil
}

// step steps the controllers.
func (a *Account) step(t *eventspb.AccountTick) {
	own := make([]control.Params, len(a.Nodes))
	for i := range a.Nodes {
		n := &a.Nodes[i]
		if own[i] = control.Unlimited(); n.Paced {
			o := n.observation(t)
			n.Pace, own[i], n.Reason = a.pacer.Step(n.Pace, o)
			if a.other != nil {
				n.otherPace, n.Other, _ = a.other.Step(n.otherPace, o)
			}
		}
		if n.Override != nil {
			own[i] = own[i].Override(*n.Override)
		}
	}
	for i := range a.Nodes {
		a.Nodes[i].Params, _ = a.above.Effective(i, own)
	}
}

// observation returns what the controller of a node sees.
func (n *Node) observation(t *eventspb.AccountTick) control.Observation {
	return control.Observation{
		AtMs: t.GetAtMs(), Day: t.GetBudgetDay(), Budget: float64(n.Budget), Spent: float64(n.Spent), Cost: n.Cost,
		Planned: t.GetPlanned(), AgeMs: t.GetSpendAgeMs(), Delayed: true, Limited: n.Limited, Peers: n.Peers,
		Paused: n.Override != nil, Serves: n.Override != nil && *n.Override > 0,
	}
}
