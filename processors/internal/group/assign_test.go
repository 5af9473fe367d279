package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fakeGroup simulates a group: members join and leave, follow the plan, and changelogs grow.
type fakeGroup struct {
	t       *rapid.T
	c       PlanConfig
	end     []int64                    // end offset of each changelog
	stores  map[string]map[int32]int64 // by instance
	members map[string]*Member
	warming map[string][]int32 // by instance
	standby map[string][]int32
	gen     int32
}

func (s *fakeGroup) list() []Member {
	var list []Member
	for _, m := range s.members {
		c := *m
		c.Next = maps.Clone(s.stores[m.Instance])
		list = append(list, c)
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// round is one rebalance. It returns the number of partitions that moved.
func (s *fakeGroup) round() (moved int) {
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
	if assigned := len(slices.Concat(slices.Collect(maps.Values(plan.Active))...)); plan.Incomplete != (assigned < int(s.c.Partitions)) {
		s.t.Fatalf("%d of %d partitions are assigned, and the plan says incomplete: %v", assigned, s.c.Partitions, plan.Incomplete)
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
				s.t.Fatalf("partition %d is assigned to %s while %s owns it", p, id, old)
			} else if !live && !warm(s.members[id].Instance, p) {
				s.t.Fatalf("partition %d is assigned to %s, which is not warm, while another instance is", p, id)
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
	s.checkStandbyTasks(seen)
	return moved
}

func (s *fakeGroup) checkStandbyTasks(active map[int32]string) {
	copies := map[int32]int{}
	for inst, ps := range s.standby {
		for i, p := range ps {
			if i > 0 && ps[i-1] >= p {
				s.t.Fatalf("standbys of %s are not in order: %v", inst, ps)
			}
			if id := active[p]; id != "" && s.members[id].Instance == inst {
				s.t.Fatalf("%s owns partition %d and is its standby", inst, p)
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

func (s *fakeGroup) instances() map[string]bool {
	set := map[string]bool{}
	for _, m := range s.members {
		set[m.Instance] = true
	}
	return set
}

func (s *fakeGroup) owners() map[int32]string {
	out := map[int32]string{}
	for _, m := range s.members {
		for _, p := range m.Owned {
			out[p] = m.ID
		}
	}
	return out
}

// follow lets the changelogs grow. Owners and standbys catch up; other stores stay behind.
func (s *fakeGroup) follow(grow int64) {
	for p := range s.owners() { // only an owner writes the changelog
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

// settle runs rounds until no partition moves, and checks the result.
func (s *fakeGroup) settle() {
	for n := 0; ; n++ {
		s.follow(10)
		if s.round() == 0 && len(slices.Concat(slices.Collect(maps.Values(s.warming))...)) == 0 && len(s.owners()) == int(s.c.Partitions) {
			break
		}
		if n > 12 {
			s.t.Fatalf("the group did not settle: warming %v, owners %v", s.warming, s.owners())
		}
	}
	s.checkBalance()
	before := fmt.Sprint(MakePlan(s.c, s.list()))
	for _, m := range s.members {
		m.Generation++
	}
	if after := fmt.Sprint(MakePlan(s.c, s.list())); after != before {
		s.t.Fatalf("partitions of a settled group move:\n%s\n%s", before, after)
	}
}

// checkBalance: instances own what is pinned to them. Beside those that own nothing else, they own
// equally many partitions but for one, and so do the members of each instance.
func (s *fakeGroup) checkBalance() {
	owned, workers, instances := map[string]int{}, map[string][]int{}, s.instances()
	pinned := map[string]int{}
	for p, inst := range s.c.Pins {
		if instances[inst] {
			pinned[inst]++
			if owner := s.members[s.owners()[p]]; owner.Instance != inst {
				s.t.Fatalf("partition %d is pinned to %s and owned by %s", p, inst, owner.Instance)
			}
		}
	}
	for _, m := range s.members {
		owned[m.Instance] += len(m.Owned)
		workers[m.Instance] = append(workers[m.Instance], len(m.Owned))
	}
	for inst, n := range owned {
		if least := slices.Min(slices.Collect(maps.Values(owned))); n > least+1 && n > pinned[inst] {
			s.t.Fatalf("%s owns %d partitions, %d of them pinned, and another instance owns %d", inst, n, pinned[inst], least)
		}
	}
	for of, counts := range workers {
		if slices.Max(counts)-slices.Min(counts) > 1 {
			s.t.Fatalf("the members of %s own %v partitions", of, counts)
		}
	}
}

func (s *fakeGroup) join(inst string, members int) {
	if s.stores[inst] == nil {
		s.stores[inst] = map[int32]int64{}
	}
	for i := range members {
		id := fmt.Sprintf("%s-%d", inst, i)
		s.members[id] = &Member{ID: id, Instance: inst, Generation: -1}
	}
}

// pin pins a partition to an instance, which may be away, or ends its pin for "".
func (s *fakeGroup) pin(p int32, inst string) {
	s.c.Pins = maps.Clone(s.c.Pins)
	if s.c.Pins == nil {
		s.c.Pins = map[int32]string{}
	}
	if s.c.Pins[p] = inst; inst == "" {
		delete(s.c.Pins, p)
	}
}

func (s *fakeGroup) leave(inst string) {
	maps.DeleteFunc(s.members, func(_ string, m *Member) bool { return m.Instance == inst })
}

func newFakeGroup(t *rapid.T) *fakeGroup {
	n := rapid.IntRange(1, 40).Draw(t, "partitions")
	return &fakeGroup{
		t: t, c: PlanConfig{Partitions: int32(n), Standbys: rapid.IntRange(0, 2).Draw(t, "standbys"), AcceptableLag: 5},
		end: make([]int64, n), stores: map[string]map[int32]int64{}, members: map[string]*Member{}, gen: 1,
	}
}

func TestRandomGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeGroup(t)
		s.join("a", rapid.IntRange(1, 3).Draw(t, "members"))
		s.settle()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			inst := string(rune('a' + rapid.IntRange(0, 4).Draw(t, "instance")))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				s.leave(inst)
				s.join(inst, rapid.IntRange(1, 5).Draw(t, "members")) // after a restart a member claims no partitions
			case 2:
				if s.leave(inst); len(s.members) == 0 {
					s.join("f", 1)
				}
			case 3:
				delete(s.stores, inst) // the instance lost its disk
				s.leave(inst)
				s.join(inst, 1)
			case 4:
				s.settle()
			case 5:
				s.pin(rapid.Int32Range(0, s.c.Partitions-1).Draw(t, "partition"), rapid.SampledFrom([]string{inst, inst, ""}).Draw(t, "to"))
			}
			s.round()
			s.follow(int64(rapid.IntRange(0, 20).Draw(t, "grow")))
		}
		s.settle()
	})
}

// TestDeath: with a standby, every partition of a dead instance moves to a warm instance in the
// next round.
func TestDeath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeGroup(t)
		s.c.Standbys = max(1, s.c.Standbys)
		for i := range rapid.IntRange(2, 5).Draw(t, "instances") {
			s.join(string(rune('a'+i)), rapid.IntRange(1, 2).Draw(t, "members"))
		}
		s.settle()
		s.leave("a")
		s.round() // fails if a partition moves to an instance that is not warm
		if got := len(s.owners()); got != int(s.c.Partitions) {
			t.Fatalf("%d of %d partitions have an owner after one round", got, s.c.Partitions)
		}
	})
}

// TestClaims: the claim with the later generation wins, and two claims of one generation cancel
// each other.
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

// TestPins: a pinned partition moves to its instance, and at most one other partition moves to
// another instance for it. When the pin ends, the group is balanced again.
func TestPins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeGroup(t)
		for _, inst := range []string{"a", "b", "c"} {
			s.join(inst, rapid.IntRange(1, 3).Draw(t, "members"))
		}
		s.settle()
		p := rapid.Int32Range(0, s.c.Partitions-1).Draw(t, "partition")
		before := s.owners()
		s.pin(p, "c")
		s.settle()
		moved := 0
		for q, id := range s.owners() {
			if s.members[id].Instance != s.members[before[q]].Instance {
				moved++
			}
		}
		if moved > 2 {
			t.Errorf("%d partitions have moved to other instances", moved)
		}
		s.pin(p, "")
		s.settle()
	})
}
