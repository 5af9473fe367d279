package group

import (
	"cmp"
	"math"
	"slices"
)

// target returns an even assignment with few moves. Pinned partitions go to their instances. Then a
// member keeps what it owns up to its share. The rest goes to members with room, preferably on an
// instance where the partition is warm.
func (g *group) target() []int {
	goal, room, owned := slices.Repeat([]int{none}, len(g.owner)), g.shares(), g.owned()
	g.assignPinned(goal, room, owned)
	keeps := make([]int, len(room))
	for member, own := range owned {
		keeps[member] = min(room[member], len(own))
		room[member] -= keeps[member]
	}
	for member, own := range owned {
		g.keepFirst(own, room)
		for _, p := range own[:keeps[member]] {
			goal[p] = member
		}
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

// assignPinned assigns the pinned partitions, each to its present owner if that is on the instance
// and has room. The share of an instance has room for all of them.
func (g *group) assignPinned(goal, room []int, owned [][]int) {
	assign := func(p, member int) {
		goal[p] = member
		room[member]--
	}
	for p, inst := range g.pinned {
		if owner := g.owner[p]; inst != none && owner != none && g.instanceOf[owner] == inst && room[owner] > 0 {
			assign(p, owner)
		}
	}
	for p, inst := range g.pinned {
		if inst == none || goal[p] != none {
			continue
		}
		best := none
		for _, member := range g.membersOf[inst] { // the one that can keep most of what it owns
			if room[member] > 0 && (best == none || room[member]-len(owned[member]) > room[best]-len(owned[best])) {
				best = member
			}
		}
		assign(p, best)
	}
}

// owned lists the partitions of each member that are not pinned.
func (g *group) owned() [][]int {
	own := make([][]int, len(g.instanceOf))
	for p, member := range g.owner {
		if member != none && g.pinned[p] == none {
			own[member] = append(own[member], p)
		}
	}
	return own
}

// shares returns the number of partitions of each member: the partitions are divided among the
// instances, and the share of each instance among its members. The share of an instance has room
// for what is pinned to it. Pinned partitions count as owned by their instances.
//
// The remainder of a division goes where it saves moves. First are those that own more than the
// least share. Then come the instances that can fill the greater share from what they own and from
// the partitions without an owner that are warm there. Of these the one that owns fewest comes
// first: it has just been restarted, and the others are its standbys. Last are the instances whose
// stores have most of the partitions without an owner. The remainder does not go to those that own
// most: that changes with each partition that moves.
func (g *group) shares() []int {
	own := make([]int, len(g.instanceOf)) // by member
	owns, warm, pinned := make([]int, len(g.membersOf)), make([]int, len(g.membersOf)), make([]int, len(g.membersOf))
	for p, owner := range g.owner {
		if inst := g.pinned[p]; inst != none {
			pinned[inst]++
			owns[inst]++
			if owner != none && g.instanceOf[owner] == inst {
				own[owner]++
			}
			continue
		}
		if owner != none {
			own[owner]++
			owns[g.instanceOf[owner]]++
			continue
		}
		for i := range warm {
			if g.warm(i, p) {
				warm[i]++
			}
		}
	}
	instances := divide(len(g.owner), pinned, func(inst, least int) int {
		switch has := owns[inst] + warm[inst]; {
		case owns[inst] > least:
			return math.MaxInt
		case has > least:
			return 2*(least+1) - owns[inst] // more than least
		default:
			return has
		}
	})
	room := make([]int, len(g.instanceOf))
	for inst, members := range g.membersOf {
		sizes := divide(instances[inst], make([]int, len(members)), func(i, least int) int { return min(own[members[i]], least+1) })
		for i, n := range sizes {
			room[members[i]] = n
		}
	}
	return room
}

// divide divides n partitions into parts that are as even as their least sizes allow. If the
// division leaves a remainder, the parts with the greatest claims get one more; least is the size
// of the others.
func divide(n int, least []int, claim func(part, least int) int) []int {
	sizes, order := slices.Clone(least), make([]int, len(least))
	for i := range order {
		order[i] = i
	}
	for { // parts with a greater least size than an even part leave less for the others
		even := n / len(order)
		greater := func(part int) bool { return least[part] > even }
		if !slices.ContainsFunc(order, greater) {
			break
		}
		for _, part := range order {
			if greater(part) {
				n -= least[part]
			}
		}
		order = slices.DeleteFunc(order, greater)
	}
	even := n / len(order)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(claim(b, even), claim(a, even)) })
	for i, part := range order {
		sizes[part] = even
		if i < n%len(order) {
			sizes[part]++
		}
	}
	return sizes
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
