package control

import (
	"errors"
	"fmt"
	"slices"
)

// ErrHierarchy is wrapped by the errors of NewHierarchy.
var ErrHierarchy = errors.New("control: hierarchy")

// Hierarchy is the budgets of an account: a node for the account, each shared budget, each campaign
// and each arm of an experiment. A node is limited by all nodes above it.
type Hierarchy struct {
	above [][]int // all nodes above a node, in ascending order
}

// NewHierarchy returns the hierarchy in which node i is directly below the nodes above[i]. A node
// may be below several, such as two shared budgets. The error is about a node that does not exist,
// or that is above itself.
func NewHierarchy(above [][]int) (*Hierarchy, error) {
	h := &Hierarchy{above: make([][]int, len(above))}
	const (
		visiting = 1
		done     = 2
	)
	state := make([]int, len(above))
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = visiting
		for _, up := range above[i] {
			switch {
			case up < 0 || up >= len(above):
				return fmt.Errorf("%w: node %d is below node %d, which does not exist", ErrHierarchy, i, up)
			case state[up] == visiting:
				return fmt.Errorf("%w: node %d is above itself", ErrHierarchy, up)
			case state[up] == 0:
				if err := visit(up); err != nil {
					return err
				}
			}
			h.above[i] = append(append(h.above[i], up), h.above[up]...)
		}
		slices.Sort(h.above[i])
		h.above[i] = slices.Compact(h.above[i])
		state[i] = done
		return nil
	}
	for i := range above {
		if state[i] == 0 {
			if err := visit(i); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

// Above returns the nodes above a node, in ascending order.
func (h *Hierarchy) Above(node int) []int { return slices.Clone(h.above[node]) }

// Effective returns the parameters by which a node takes part: the least of its own and of those of
// all nodes above it. own has the parameters of each node; those of a node without a budget are
// Unlimited. limited is for the next Observation of the node.
func (h *Hierarchy) Effective(node int, own []Params) (p Params, limited Limits) {
	p = own[node]
	for _, up := range h.above[node] {
		p = Least(p, own[up])
	}
	return p, LimitsOf(own[node], p)
}

// Left returns what a node may spend at most: the least rest of its own budget and of those of the
// nodes above it. left has what is left of the budget of each node, in micros, +Inf without a
// budget. The gate of the node is open if it is above 0.
func (h *Hierarchy) Left(node int, left []float64) float64 {
	least := left[node]
	for _, up := range h.above[node] {
		least = min(least, left[up])
	}
	return least
}

// Unlimited returns the parameters of a node without a budget.
func Unlimited() Params { return Params{Open: true, Probability: 1, Multiplier: 1} }
