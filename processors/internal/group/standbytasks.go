package group

import (
	"cmp"
	"slices"
)

// standbyTasks chooses the standbys of each partition: first the instances that have the most of
// it, as evenly as possible. The instance that the goal names for a partition is always among them
// until it owns the partition. An owner that is about to release a partition still counts as its
// owner.
func (g *group) standbyTasks(goal, now []int) map[string]StandbyTasks {
	n, instances := len(now), len(g.membersOf)
	at := make([]int, n) // the instance that folds each partition until the next round
	for p := range at {
		if at[p] = g.instanceOf[now[p]]; g.owner[p] != none {
			at[p] = g.instanceOf[g.owner[p]]
		}
	}
	has := make([][]bool, instances)
	for i := range has {
		has[i] = make([]bool, n)
	}
	load := make([]int, instances)
	out := make([]StandbyTasks, instances)
	assign := func(inst, p int) {
		has[inst][p] = true
		load[inst]++
		out[inst].Standbys = append(out[inst].Standbys, int32(p))
	}
	missing := make([]int, n)
	wanted := min(g.Standbys, instances-1)
	share := (n*wanted + instances - 1) / instances
	for p := range n {
		missing[p] = wanted
		for _, i := range g.byCaughtUp(p) {
			if missing[p] > 0 && i != at[p] && g.next[i][p] >= 0 && load[i] < share {
				assign(i, p)
				missing[p]--
			}
		}
	}
	for p := range n {
		for ; missing[p] > 0; missing[p]-- {
			least := none
			for i := range instances {
				if i != at[p] && !has[i][p] && (least == none || load[i] < load[least]) {
					least = i
				}
			}
			assign(least, p)
		}
	}
	for p := range n {
		i := g.instanceOf[goal[p]]
		if i != at[p] && !has[i][p] {
			assign(i, p)
		}
		if i != g.instanceOf[now[p]] {
			out[i].Warmups = append(out[i].Warmups, int32(p))
		}
	}
	byMember := map[string]StandbyTasks{}
	for i, d := range out {
		if len(d.Standbys) > 0 {
			slices.Sort(d.Standbys)
			byMember[g.ids[g.membersOf[i][0]]] = d
		}
	}
	return byMember
}

// byCaughtUp returns the instances, the one with the greatest changelog offset of a partition
// first.
func (g *group) byCaughtUp(p int) []int {
	order := make([]int, len(g.membersOf))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.next[b][p], g.next[a][p]) })
	return order
}
