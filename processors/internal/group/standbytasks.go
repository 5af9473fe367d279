package group

import (
	"cmp"
	"slices"
)

// standbyTasks says which instances keep what warm: whoever has it already, as evenly as that goes, and the goal of each partition
// that is still elsewhere. An owner that is to give a partition up still has it.
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
	give := func(inst, p int) {
		has[inst][p] = true
		load[inst]++
		out[inst].Standbys = append(out[inst].Standbys, int32(p))
	}
	short := make([]int, n)
	wanted := min(g.Standbys, instances-1)
	share := (n*wanted + instances - 1) / instances
	for p := range n {
		short[p] = wanted
		for _, i := range g.byCaughtUp(p) {
			if short[p] > 0 && i != at[p] && g.next[i][p] >= 0 && load[i] < share {
				give(i, p)
				short[p]--
			}
		}
	}
	for p := range n {
		for ; short[p] > 0; short[p]-- {
			least := none
			for i := range instances {
				if i != at[p] && !has[i][p] && (least == none || load[i] < load[least]) {
					least = i
				}
			}
			give(least, p)
		}
	}
	for p := range n {
		i := g.instanceOf[goal[p]]
		if i != at[p] && !has[i][p] {
			give(i, p)
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

// byCaughtUp lists the instances, those first that have most of a partition.
func (g *group) byCaughtUp(p int) []int {
	order := make([]int, len(g.membersOf))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.next[b][p], g.next[a][p]) })
	return order
}
