package group

import (
	"cmp"
	"slices"
)

// target returns an even assignment with few moves. A member keeps what it owns up to its share.
// The rest goes to members with room, preferably on an instance where the partition is warm.
func (g *group) target() []int {
	goal, room := slices.Repeat([]int{none}, len(g.owner)), g.shares()
	for member, own := range g.owned() {
		g.keepFirst(own, room)
		for _, p := range own[:min(room[member], len(own))] {
			goal[p] = member
		}
		room[member] -= min(room[member], len(own))
	}
	var rest []int
	for p, member := range goal {
		if member == none {
			rest = append(rest, p)
		}
	}
	// Partitions with the fewest warm candidates first.
	choice := func(p int) (n int) {
		for i, members := range g.membersOf {
			for _, s := range members {
				if g.warm(i, p) && room[s] > 0 {
					n++
				}
			}
		}
		return n
	}
	slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(choice(a), choice(b)) })
	for _, fits := range []func(inst, p int) bool{
		func(inst, p int) bool { return g.owner[p] != none && g.instanceOf[g.owner[p]] == inst },
		g.warm,
		func(int, int) bool { return true },
	} {
		rest = slices.DeleteFunc(rest, func(p int) bool {
			member := g.leastLoaded(room, func(inst int) bool { return fits(inst, p) })
			if member == none {
				return false
			}
			goal[p] = member
			room[member]--
			return true
		})
	}
	return goal
}

// owned lists the partitions of each member.
func (g *group) owned() [][]int {
	own := make([][]int, len(g.instanceOf))
	for p, member := range g.owner {
		if member != none {
			own[member] = append(own[member], p)
		}
	}
	return own
}

// shares returns the number of partitions of each member. If the division leaves a remainder, the
// members that own most get one more.
func (g *group) shares() []int {
	n, members := len(g.owner), len(g.instanceOf)
	room, own := slices.Repeat([]int{n / members}, members), g.owned()
	order := make([]int, members)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(own[b]), len(own[a])) })
	for _, member := range order[:n%members] {
		room[member]++
	}
	return room
}

// keepFirst sorts the partitions of a member. Those that no other instance with room has warm come
// first: the others can move without a warm-up.
func (g *group) keepFirst(own []int, room []int) {
	movable := func(p int) int {
		for i, members := range g.membersOf {
			if i == g.instanceOf[g.owner[p]] || !g.warm(i, p) {
				continue
			}
			for _, s := range members {
				if room[s] > 0 {
					return 1
				}
			}
		}
		return 0
	}
	slices.SortStableFunc(own, func(a, b int) int { return cmp.Compare(movable(a), movable(b)) })
}

// leastLoaded returns the member with the most room among those on instances that fit, or none.
func (g *group) leastLoaded(room []int, fits func(inst int) bool) int {
	best := none
	for member, n := range room {
		if n > 0 && (best == none || n > room[best]) && fits(g.instanceOf[member]) {
			best = member
		}
	}
	return best
}
