package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// instanceOwners returns the instance that owns each partition.
func (s *fakeGroup) instanceOwners() map[int32]string {
	out := s.owners()
	for p, id := range out {
		out[p] = s.members[id].Instance
	}
	return out
}

// settledGroup returns a settled group of several instances with differing numbers of members.
func settledGroup(t *rapid.T) *fakeGroup {
	s := newFakeGroup(t)
	for i := range rapid.IntRange(1, 5).Draw(t, "instances") {
		s.join(string(rune('a'+i)), rapid.IntRange(1, 5).Draw(t, "members"))
	}
	s.settle()
	return s
}

// TestSecondProcess: with the default of four workers, a second process shares the partitions of
// the first one.
func TestSecondProcess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &fakeGroup{t: t, c: PlanConfig{Partitions: 4, AcceptableLag: 5}, end: make([]int64, 4), stores: map[string]map[int32]int64{}, members: map[string]*Member{}, gen: 1}
		s.join("a", 4)
		s.settle()
		s.join("b", 4)
		s.settle()
		owned := map[string]int{}
		for _, inst := range s.instanceOwners() {
			owned[inst]++
		}
		if owned["a"] != 2 || owned["b"] != 2 {
			t.Fatalf("the instances own %v of 4 partitions", owned)
		}
	})
}

// TestJoin: a new instance receives its share after it has caught up, and no other partition moves,
// neither between instances nor between the members of one.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settledGroup(t)
		before := s.owners()
		s.join("z", rapid.IntRange(1, 5).Draw(t, "members of z"))
		s.settle()
		for p, id := range s.owners() {
			if s.members[id].Instance != "z" && before[p] != id {
				t.Fatalf("partition %d moved from %s to %s", p, before[p], id)
			}
		}
	})
}

// TestJoinMemberByMember: the sessions of a process join one after another. The other processes
// lose the share of the new one, each partition once.
func TestJoinMemberByMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settledGroup(t)
		before, lost := s.owners(), map[int32]int{}
		for i := range rapid.IntRange(1, 5).Draw(t, "members of z") {
			s.join("z", i+1)
			last := s.instanceOwners()
			s.round()
			for p := range s.instanceOwners() {
				if last[p] != "" && last[p] != "z" && s.instanceOwners()[p] != last[p] {
					lost[p]++
				}
			}
			s.follow(10)
		}
		s.settle()
		for p, id := range s.owners() {
			if s.members[id].Instance != "z" && (before[p] != id || lost[p] > 0) {
				t.Fatalf("partition %d moved from %s to %s", p, before[p], id)
			}
		}
	})
}

// forgetOld removes from the stores what their instances do not own, and sets Standbys to 0: each
// partition is warm at its owner only.
func (s *fakeGroup) forgetOld() {
	s.c.Standbys = 0
	s.settle()
	owners := s.instanceOwners()
	for inst, store := range s.stores {
		maps.DeleteFunc(store, func(p int32, _ int64) bool { return owners[p] != inst })
	}
}

// TestReturn: an instance leaves and comes back, with its store or without. No partition moves
// between the others, neither between instances nor between the members of one, apart from those
// that it had.
func TestReturn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settledGroup(t)
		s.join("z", rapid.IntRange(1, 5).Draw(t, "members of z"))
		s.forgetOld()
		before, was := s.owners(), maps.Clone(s.members)
		s.leave("z")
		s.settle()
		if rapid.Bool().Draw(t, "it lost its disk") {
			delete(s.stores, "z")
		}
		s.join("z", rapid.IntRange(1, 5).Draw(t, "members of z after its return"))
		s.settle()
		for p, id := range s.owners() {
			if was[before[p]].Instance != "z" && s.members[id].Instance != "z" && before[p] != id {
				t.Fatalf("partition %d moved from %s to %s", p, before[p], id)
			}
		}
	})
}

// TestReturnWarm: an instance of one member comes back before its store is too old. It gets
// partitions that it had, which need no warm-up.
func TestReturnWarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeGroup(t)
		s.c.AcceptableLag = 1_000_000
		for i := range rapid.IntRange(2, 6).Draw(t, "instances") {
			s.join(string(rune('a'+i)), 1)
			s.settle()
		}
		s.forgetOld()
		had := s.instanceOwners()
		back := had[0]
		s.leave(back)
		s.settle()
		s.join(back, 1)
		s.settle()
		for p, inst := range s.instanceOwners() {
			if inst == back && had[p] != back {
				t.Fatalf("partition %d of %s moved to %s", p, had[p], back)
			}
		}
	})
}

// TestRestart: instances are killed and start again before the group notices, so they claim no
// partitions. Each partition stays at the instance whose store has it.
func TestRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settledGroup(t)
		s.forgetOld()
		before := s.instanceOwners()
		for _, inst := range slices.Sorted(maps.Keys(s.instances())) {
			if rapid.Bool().Draw(t, "restart of "+inst) {
				for _, m := range s.members {
					if m.Instance == inst {
						m.Owned = nil
					}
				}
			}
		}
		s.settle()
		if after := s.instanceOwners(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("partitions moved:\n%v\n%v", before, after)
		}
	})
}

// TestRestartWithStandbys: an instance is killed and starts again before the group notices, so it
// claims no partitions. Its partitions are warm on other instances, too. No partition moves.
func TestRestartWithStandbys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeGroup(t)
		s.c.Standbys = rapid.IntRange(1, 2).Draw(t, "some standbys")
		for i := range rapid.IntRange(2, 5).Draw(t, "instances") {
			s.join(string(rune('a'+i)), rapid.IntRange(1, 5).Draw(t, "members"))
		}
		s.settle()
		s.follow(10)
		before := s.instanceOwners()
		restarted := rapid.SampledFrom(slices.Sorted(maps.Keys(s.instances()))).Draw(t, "restarted")
		for _, m := range s.members {
			if m.Instance == restarted {
				m.Owned = nil
			}
		}
		s.settle()
		if after := s.instanceOwners(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("partitions moved at the restart of %s:\n%v\n%v", restarted, before, after)
		}
	})
}

// TestFlapping: an instance with an empty store joins and leaves again and again before it has
// caught up. No partition moves.
func TestFlapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settledGroup(t)
		before := s.owners()
		for range 5 {
			s.join("z", 4)
			s.round()
			s.leave("z")
			s.round()
			delete(s.stores, "z")
		}
		if after := s.owners(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("partitions moved:\n%v\n%v", before, after)
		}
	})
}
