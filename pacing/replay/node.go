package replay

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
)

// Node is a shared budget, a campaign or an arm in a tick.
type Node struct {
	Kind     eventspb.NodeKind
	ID       string
	Campaign string // of an arm
	Paced    bool   // it has a budget of its own, and a controller

	// What the controller has seen. Amounts are micros.
	Budget, Spent int64
	Flight        float64        // cost of the ads that were shown and are not charged yet
	Cost          float64        // of a tick
	Limited       control.Limits // in the tick before, see LimitedBy
	Override      *float64       // probability by an operator, 0: stopped; nil: none
	Peers         control.Peers

	Pace   control.Pace   // after the step
	Reason control.Reason // of Pace
	// Params are the least of its own and of those of the nodes above: what servers get.
	Params control.Params
	// LimitedBy is the node above whose parameters count; nil: its own.
	LimitedBy *Node
	// Grown is the growth of Spent since the tick before, micros: 0 in the first tick that was
	// replayed of the node, and at the begin of a day what was spent on it.
	Grown int64

	// Other is what Config.Controller had decided: its own parameters.
	Other control.Params

	pacer     *control.Pacer // of its controller
	above     int            // index of the node above; -1: none
	before    int64          // Spent in the tick before a whole one
	own       control.Params
	otherPace control.Pace
}

// observation returns what the controller of a node sees.
func (n *Node) observation(t *eventspb.AccountTick) control.Observation {
	return control.Observation{
		AtMs: t.GetAtMs(), Day: t.GetBudgetDay(), Budget: float64(n.Budget), Spent: float64(n.Spent), Flight: n.Flight, Cost: n.Cost,
		Planned: t.GetPlanned(), AgeMs: t.GetSpendAgeMs(), Delayed: true, Limited: n.Limited, Peers: n.Peers,
		Paused: n.Override != nil, Serves: n.Override != nil && *n.Override > 0,
	}
}
