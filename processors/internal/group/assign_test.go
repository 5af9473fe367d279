package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// swarm plays a group: members come and go, plans are obeyed, logs grow, standbys follow.
type swarm struct {
	t       *rapid.T
	c       PlanConfig
	end     []int64                    // of each changelog
	stores  map[string]map[int32]int64 // by instance
	members map[string]*Member
	warming map[string][]int32 // by instance
	standby map[string][]int32
	gen     int32
}

func (s *swarm) list() []Member {
	var list []Member
	for _, m := range s.members {
		c := *m
		c.Next = maps.Clone(s.stores[m.Instance])
		list = append(list, c)
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// round is one rebalance. It says what moved.
func (s *swarm) round() (moved int) {
	before := s.owners()
	warm := func(inst string, p int32) bool {
		best := int64(-1)
		for _, m := range s.members {
			if n, ok := s.stores[m.Instance][p]; ok {
				best = max(best, n)
			}
		}
		n, ok := s.stores[inst][p]
		return best < 0 || ok && best-n <= s.c.AcceptableLag
	}
	list := s.list()
	plan := MakePlan(s.c, list)
	if again := MakePlan(s.c, s.list()); fmt.Sprint(again) != fmt.Sprint(plan) {
		s.t.Fatalf("the plan depends on the order of members:\n%v\n%v", plan, again)
	}
	s.gen++
	s.warming, s.standby = map[string][]int32{}, map[string][]int32{}
	seen := map[int32]string{}
	for id, ps := range plan.Active {
		for _, p := range ps {
			if seen[p] != "" {
				s.t.Fatalf("partition %d is active at %s and %s", p, seen[p], id)
			}
			seen[p] = id
			if old, live := before[p]; live && old != id {
				s.t.Fatalf("partition %d goes to %s while %s has it", p, id, old)
			} else if !live && !warm(s.members[id].Instance, p) {
				s.t.Fatalf("partition %d goes to %s, which is cold, while another is warm", p, id)
			}
		}
	}
	for p, id := range before {
		if seen[p] != id {
			moved++
		}
	}
	for _, m := range s.members {
		m.Owned, m.Generation = plan.Active[m.ID], s.gen
		d := plan.StandbyTasks[m.ID]
		s.standby[m.Instance] = append(s.standby[m.Instance], d.Standbys...)
		s.warming[m.Instance] = append(s.warming[m.Instance], d.Warmups...)
	}
	s.judgeDuties(seen)
	return moved
}

func (s *swarm) judgeDuties(active map[int32]string) {
	copies := map[int32]int{}
	for inst, ps := range s.standby {
		for i, p := range ps {
			if i > 0 && ps[i-1] >= p {
				s.t.Fatalf("standbys of %s are not in order: %v", inst, ps)
			}
			if id := active[p]; id != "" && s.members[id].Instance == inst {
				s.t.Fatalf("%s folds partition %d and keeps it warm", inst, p)
			}
			copies[p]++
		}
	}
	for p := range s.c.Partitions {
		if want := min(s.c.Standbys, len(s.instances())-1); copies[p] < want || copies[p] > want+1 {
			s.t.Fatalf("partition %d has %d standbys, wanted %d", p, copies[p], want)
		}
	}
}

func (s *swarm) instances() map[string]bool {
	set := map[string]bool{}
	for _, m := range s.members {
		set[m.Instance] = true
	}
	return set
}

func (s *swarm) owners() map[int32]string {
	out := map[int32]string{}
	for _, m := range s.members {
		for _, p := range m.Owned {
			out[p] = m.ID
		}
	}
	return out
}

// follow lets logs grow, and everybody who folds or follows catch up; others stay behind.
func (s *swarm) follow(grow int64) {
	for p := range s.owners() { // nobody else writes it
		s.end[p] += grow
	}
	for _, m := range s.members {
		for _, p := range m.Owned {
			s.stores[m.Instance][p] = s.end[p]
		}
	}
	for inst, ps := range s.standby {
		for _, p := range ps {
			if s.stores[inst] != nil {
				s.stores[inst][p] = s.end[p]
			}
		}
	}
}

// settle goes on until nothing moves, and judges what is reached.
func (s *swarm) settle() {
	for n := 0; ; n++ {
		s.follow(10)
		if s.round() == 0 && len(slices.Concat(slices.Collect(maps.Values(s.warming))...)) == 0 && len(s.owners()) == int(s.c.Partitions) {
			break
		}
		if n > 12 {
			s.t.Fatalf("does not settle: warming %v, owners %v", s.warming, s.owners())
		}
	}
	least, most := int(s.c.Partitions), 0
	for _, m := range s.members {
		least, most = min(least, len(m.Owned)), max(most, len(m.Owned))
	}
	if most-least > 1 {
		s.t.Fatalf("uneven: from %d to %d", least, most)
	}
	before := fmt.Sprint(MakePlan(s.c, s.list()))
	for _, m := range s.members {
		m.Generation++
	}
	if after := fmt.Sprint(MakePlan(s.c, s.list())); after != before {
		s.t.Fatalf("a settled group moves:\n%s\n%s", before, after)
	}
}

func (s *swarm) join(inst string, seats int) {
	if s.stores[inst] == nil {
		s.stores[inst] = map[int32]int64{}
	}
	for i := range seats {
		id := fmt.Sprintf("%s-%d", inst, i)
		s.members[id] = &Member{ID: id, Instance: inst, Generation: -1}
	}
}

func (s *swarm) leave(inst string) {
	maps.DeleteFunc(s.members, func(_ string, m *Member) bool { return m.Instance == inst })
}

func newSwarm(t *rapid.T) *swarm {
	n := rapid.IntRange(1, 40).Draw(t, "partitions")
	return &swarm{
		t: t, c: PlanConfig{Partitions: int32(n), Standbys: rapid.IntRange(0, 2).Draw(t, "standbys"), AcceptableLag: 5},
		end: make([]int64, n), stores: map[string]map[int32]int64{}, members: map[string]*Member{}, gen: 1,
	}
}

func TestSwarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwarm(t)
		s.join("a", rapid.IntRange(1, 3).Draw(t, "seats"))
		s.settle()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			inst := string(rune('a' + rapid.IntRange(0, 4).Draw(t, "instance")))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				s.leave(inst)
				s.join(inst, rapid.IntRange(1, 3).Draw(t, "seats")) // a restart forgets what it owned
			case 2:
				if s.leave(inst); len(s.members) == 0 {
					s.join("f", 1)
				}
			case 3:
				delete(s.stores, inst) // its disk is gone
				s.leave(inst)
				s.join(inst, 1)
			case 4:
				s.settle()
			}
			s.round()
			s.follow(int64(rapid.IntRange(0, 20).Draw(t, "grow")))
		}
		s.settle()
	})
}

// TestJoin: one more instance moves its share and nothing else, after it has caught up.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwarm(t)
		seats := rapid.IntRange(1, 2).Draw(t, "seats")
		n := rapid.IntRange(1, 5).Draw(t, "instances")
		for i := range n {
			s.join(string(rune('a'+i)), seats)
		}
		s.settle()
		before := s.owners()
		s.join("z", seats)
		s.settle()
		moved := 0
		for p, id := range s.owners() {
			if before[p] != id {
				moved++
			}
		}
		share := (int(s.c.Partitions) + (n+1)*seats - 1) / ((n + 1) * seats)
		if moved > share*seats {
			t.Fatalf("%d partitions moved for a share of %d", moved, share*seats)
		}
	})
}

// TestDeath: with a standby, every partition of an instance that is gone is at a warm one in the next round.
func TestDeath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwarm(t)
		s.c.Standbys = max(1, s.c.Standbys)
		for i := range rapid.IntRange(2, 5).Draw(t, "instances") {
			s.join(string(rune('a'+i)), rapid.IntRange(1, 2).Draw(t, "seats"))
		}
		s.settle()
		s.leave("a")
		s.round() // it fails if one goes to a cold instance
		if got := len(s.owners()); got != int(s.c.Partitions) {
			t.Fatalf("%d of %d partitions have an owner after one round", got, s.c.Partitions)
		}
	})
}

// TestClaims: the later generation is right, and of two equal claims neither.
func TestClaims(t *testing.T) {
	c := PlanConfig{Partitions: 2}
	plan := MakePlan(c, []Member{
		{ID: "a", Instance: "a", Owned: []int32{0, 1}, Generation: 3},
		{ID: "b", Instance: "b", Owned: []int32{1}, Generation: 4},
	})
	if got := fmt.Sprint(plan.Active); got != "map[a:[0] b:[1]]" {
		t.Errorf("plan %s", got)
	}
	g := newGroup(c, []Member{
		{ID: "a", Instance: "a", Owned: []int32{0}, Generation: 4},
		{ID: "b", Instance: "b", Owned: []int32{0}, Generation: 4},
	})
	if g.owner[0] != none {
		t.Errorf("partition 0 belongs to %d, though two claim it", g.owner[0])
	}
}

func BenchmarkPlan(b *testing.B) {
	var members []Member
	for i := range 100 {
		m := Member{ID: fmt.Sprintf("m%03d", i), Instance: fmt.Sprintf("i%02d", i/2), Next: map[int32]int64{}}
		for p := range int32(1000) {
			if rand.IntN(10) == 0 {
				m.Next[p] = rand.Int64N(1e6)
			}
		}
		members = append(members, m)
	}
	for b.Loop() {
		MakePlan(PlanConfig{Partitions: 1000, Standbys: 1, AcceptableLag: 1000}, members)
	}
}
