package group

import (
	"cmp"
	"slices"
	"time"
)

// PlanConfig holds the settings of a plan.
type PlanConfig struct {
	Partitions int32
	// Standbys is the number of instances that keep a partition warm besides its owner. With fewer
	// instances there are fewer standbys.
	Standbys int
	// AcceptableLag, FewRecords and AcceptableAge decide which instance counts as warm: see the
	// constants of their names.
	AcceptableLag, FewRecords int64
	AcceptableAge             time.Duration
	// Pins are the instances that own partitions while they are in the group, by partition.
	Pins map[int32]string
}

// Member is one session of the group.
type Member struct {
	ID         string
	Instance   string
	Owned      []int32 // partitions that the member claims
	Generation int32   // of the group, in which the partitions were assigned
	// Next is the changelog offset, by partition, up to which the instance's store is complete.
	Next map[int32]int64
	// WrittenMs is when the last transaction of Next was written, Unix ms.
	WrittenMs map[int32]int64
}

// StandbyTasks are the partitions that an instance follows without owning them.
type StandbyTasks struct {
	Standbys []int32 // partitions to keep warm
	Warmups  []int32 // the standbys that will become active on the instance
}

// Assignment is the plan of a group. All lists are in order.
type Assignment struct {
	Active       map[string][]int32      // by member
	StandbyTasks map[string]StandbyTasks // by member: the first member of each instance has those of the instance
	Instances    int                     // in the group
	Incomplete   bool                    // a partition is active at no member, because its present owner must release it first
}

// MakePlan plans a group. The result depends on the arguments alone, and not on the order of
// members.
func MakePlan(c PlanConfig, members []Member) Assignment {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	g := newGroup(c, members)
	goal := g.target()
	now := g.immediate(goal)
	plan := Assignment{Active: map[string][]int32{}, StandbyTasks: g.standbyTasks(goal, now), Instances: len(g.membersOf)}
	for p, member := range now {
		if owner := g.owner[p]; owner == none || owner == member { // otherwise the present owner must release it first
			id := members[member].ID
			plan.Active[id] = append(plan.Active[id], int32(p))
		} else {
			plan.Incomplete = true
		}
	}
	return plan
}

const none = -1

// group is the metadata of all members, by index. Instances are numbered in the order of their
// first member.
type group struct {
	PlanConfig
	ids        []string  // by member
	owner      []int     // member by partition, or none
	pinned     []int     // instance by partition, or none
	instanceOf []int     // instance by member
	membersOf  [][]int   // by instance
	next       [][]int64 // by instance and partition; none if the instance has nothing of the partition
	best       []int64   // greatest next by partition
	written    [][]int64 // Unix ms, by instance and partition; 0: not known
	newest     []int64   // greatest written by partition
}

func newGroup(c PlanConfig, members []Member) *group {
	n := int(c.Partitions)
	g := &group{PlanConfig: c, owner: make([]int, n), pinned: make([]int, n), best: make([]int64, n), newest: make([]int64, n)}
	names := map[string]int{}
	for member, m := range members {
		i, ok := names[m.Instance]
		if !ok {
			i = len(g.membersOf)
			names[m.Instance] = i
			g.membersOf, g.next = append(g.membersOf, nil), append(g.next, slices.Repeat([]int64{none}, n))
			g.written = append(g.written, make([]int64, n))
		}
		g.ids, g.instanceOf, g.membersOf[i] = append(g.ids, m.ID), append(g.instanceOf, i), append(g.membersOf[i], member)
		for p, next := range m.Next {
			if p >= 0 && p < c.Partitions {
				g.next[i][p] = max(g.next[i][p], next)
				g.written[i][p] = max(g.written[i][p], m.WrittenMs[p])
			}
		}
	}
	for p := range n {
		g.best[p], g.pinned[p] = none, none
		if inst, ok := names[c.Pins[int32(p)]]; ok {
			g.pinned[p] = inst
		}
		for i := range g.next {
			g.best[p], g.newest[p] = max(g.best[p], g.next[i][p]), max(g.newest[p], g.written[i][p])
		}
	}
	g.resolveOwners(members)
	return g
}

// resolveOwners determines the owner of each partition: the claim with the latest generation wins,
// and two claims of one generation cancel each other.
func (g *group) resolveOwners(members []Member) {
	since := make([]int32, len(g.owner))
	for p := range g.owner {
		g.owner[p], since[p] = none, none
	}
	for member, m := range members {
		for _, p := range m.Owned {
			switch {
			case p < 0 || p >= g.Partitions || m.Generation < since[p]:
			case m.Generation == since[p]:
				g.owner[p] = none
			default:
				g.owner[p], since[p] = member, m.Generation
			}
		}
	}
}

// immediate returns the member that can run each partition now: that of goal, unless it has to
// catch up first and another instance is warm.
func (g *group) immediate(goal []int) []int {
	now, load := slices.Clone(goal), make([]int, len(g.instanceOf))
	for _, member := range goal {
		load[member]++
	}
	for p, member := range goal {
		owner := g.owner[p]
		if g.best[p] < 0 || g.warm(g.instanceOf[member], p) || owner != none && g.instanceOf[owner] == g.instanceOf[member] {
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
		load[member]--
		load[owner]++
		now[p] = owner
	}
	return now
}
