package group

import (
	"cmp"
	"slices"
)

// PlanConfig is what a plan is made for.
type PlanConfig struct {
	Partitions int32
	// Standbys is how many instances keep a partition warm beside the one that folds it, as far as there are so many.
	Standbys int
	// AcceptableLag is how many changelog records an instance may be behind the best and count as warm.
	AcceptableLag int64
}

// Member is one session of the group.
type Member struct {
	ID         string
	Instance   string
	Owned      []int32 // partitions that it claims
	Generation int32   // of the group, in which it was given them
	// Next is, by partition, the changelog offset up to which the instance's store has it.
	Next map[int32]int64
}

// StandbyTasks is what an instance does beside folding.
type StandbyTasks struct {
	Standbys []int32 // partitions to keep warm
	Warmups  []int32 // those of them that are to become active there
}

// Assignment is who does what. Lists are in order.
type Assignment struct {
	Active       map[string][]int32      // by member
	StandbyTasks map[string]StandbyTasks // by member: the first of each instance has its instance's
}

// MakePlan plans a group. It depends on nothing but its arguments, and not on the order of members.
func MakePlan(c PlanConfig, members []Member) Assignment {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	g := newGroup(c, members)
	goal := g.target()
	now := g.immediate(goal)
	plan := Assignment{Active: map[string][]int32{}, StandbyTasks: g.standbyTasks(goal, now)}
	for p, seat := range now {
		if owner := g.owner[p]; owner == none || owner == seat { // else its owner has to give it up first
			id := members[seat].ID
			plan.Active[id] = append(plan.Active[id], int32(p))
		}
	}
	return plan
}

const none = -1

// group is what the members said, by index: seats are members, instances are numbered in order of their first seat.
type group struct {
	PlanConfig
	ids        []string  // by seat
	owner      []int     // seat by partition, or none
	instanceOf []int     // instance by seat
	membersOf  [][]int   // by instance
	next       [][]int64 // by instance and partition; none if it has nothing
	best       []int64   // greatest next by partition
}

func newGroup(c PlanConfig, members []Member) *group {
	n := int(c.Partitions)
	g := &group{PlanConfig: c, owner: make([]int, n), best: make([]int64, n)}
	names := map[string]int{}
	for seat, m := range members {
		i, ok := names[m.Instance]
		if !ok {
			i = len(g.membersOf)
			names[m.Instance] = i
			g.membersOf, g.next = append(g.membersOf, nil), append(g.next, slices.Repeat([]int64{none}, n))
		}
		g.ids, g.instanceOf, g.membersOf[i] = append(g.ids, m.ID), append(g.instanceOf, i), append(g.membersOf[i], seat)
		for p, next := range m.Next {
			if p >= 0 && p < c.Partitions {
				g.next[i][p] = max(g.next[i][p], next)
			}
		}
	}
	for p := range n {
		g.best[p] = none
		for i := range g.next {
			g.best[p] = max(g.best[p], g.next[i][p])
		}
	}
	g.resolveOwners(members)
	return g
}

// resolveOwners settles who owns what: the latest generation is right, and of two equal claims neither.
func (g *group) resolveOwners(members []Member) {
	since := make([]int32, len(g.owner))
	for p := range g.owner {
		g.owner[p], since[p] = none, none
	}
	for seat, m := range members {
		for _, p := range m.Owned {
			switch {
			case p < 0 || p >= g.Partitions || m.Generation < since[p]:
			case m.Generation == since[p]:
				g.owner[p] = none
			default:
				g.owner[p], since[p] = seat, m.Generation
			}
		}
	}
}

// warm says whether an instance has caught up with a partition.
func (g *group) warm(inst, p int) bool {
	return g.next[inst][p] >= 0 && g.best[p]-g.next[inst][p] <= g.AcceptableLag
}

// immediate is who can fold each partition at once: the goal, unless it has to catch up first and somebody else need not.
func (g *group) immediate(goal []int) []int {
	now, load := slices.Clone(goal), make([]int, len(g.instanceOf))
	for _, seat := range goal {
		load[seat]++
	}
	for p, seat := range goal {
		owner := g.owner[p]
		if g.best[p] < 0 || g.warm(g.instanceOf[seat], p) || owner != none && g.instanceOf[owner] == g.instanceOf[seat] {
			continue
		}
		if owner == none {
			for i := range g.membersOf {
				if !g.warm(i, p) {
					continue
				}
				for _, s := range g.membersOf[i] {
					if owner == none || load[s] < load[owner] {
						owner = s
					}
				}
			}
		}
		load[seat]--
		load[owner]++
		now[p] = owner
	}
	return now
}
