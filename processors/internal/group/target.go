package group

import (
	"cmp"
	"slices"
)

// target is an even distribution with few moves: seats keep what they own up to their share, and the rest goes to where it is
// warm, as far as there is room.
func (g *group) target() []int {
	goal, room := slices.Repeat([]int{none}, len(g.owner)), g.shares()
	for seat, own := range g.owned() {
		g.keepFirst(own, room)
		for _, p := range own[:min(room[seat], len(own))] {
			goal[p] = seat
		}
		room[seat] -= min(room[seat], len(own))
	}
	var rest []int
	for p, seat := range goal {
		if seat == none {
			rest = append(rest, p)
		}
	}
	// Those with the least choice first.
	choice := func(p int) (n int) {
		for i, seats := range g.membersOf {
			for _, s := range seats {
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
			seat := g.leastLoaded(room, func(inst int) bool { return fits(inst, p) })
			if seat == none {
				return false
			}
			goal[p] = seat
			room[seat]--
			return true
		})
	}
	return goal
}

// owned lists what each seat has.
func (g *group) owned() [][]int {
	own := make([][]int, len(g.instanceOf))
	for p, seat := range g.owner {
		if seat != none {
			own[seat] = append(own[seat], p)
		}
	}
	return own
}

// shares is how many partitions each seat may have: those that have most get one more where it does not come out even.
func (g *group) shares() []int {
	n, seats := len(g.owner), len(g.instanceOf)
	room, own := slices.Repeat([]int{n / seats}, seats), g.owned()
	order := make([]int, seats)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(own[b]), len(own[a])) })
	for _, seat := range order[:n%seats] {
		room[seat]++
	}
	return room
}

// keepFirst puts those partitions first that nobody else with room has warm: the others are easier to give away.
func (g *group) keepFirst(own []int, room []int) {
	elsewhere := func(p int) int {
		for i, seats := range g.membersOf {
			if i == g.instanceOf[g.owner[p]] || !g.warm(i, p) {
				continue
			}
			for _, s := range seats {
				if room[s] > 0 {
					return 1
				}
			}
		}
		return 0
	}
	slices.SortStableFunc(own, func(a, b int) int { return cmp.Compare(elsewhere(a), elsewhere(b)) })
}

// leastLoaded is the seat with most room among those of instances that fit, or none.
func (g *group) leastLoaded(room []int, fits func(inst int) bool) int {
	best := none
	for seat, n := range room {
		if n > 0 && (best == none || n > room[best]) && fits(g.instanceOf[seat]) {
			best = seat
		}
	}
	return best
}
