package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// logged is an event of a retained counter.
type logged struct {
	campaign string
	day      int32
	at       time.Time
}

// closingDays are events of three campaigns on two budget days, and one that closes both days.
func closingDays() []logged {
	noon := time.Date(2023, 11, 14, 12, 0, 0, 0, time.UTC)
	var out []logged
	for _, campaign := range []string{"c1", "c2", "c3"} {
		out = append(out, logged{campaign, 20231114, noon}, logged{campaign, 20231114, noon.Add(time.Hour)}, logged{campaign, 20231115, noon})
	}
	return append(out, logged{"c4", 20231118, noon.Add(100 * time.Hour)})
}

func (r *retained) fold(list []logged) {
	for _, e := range list {
		r.event(e.campaign, e.day, e.at)
	}
}

// countAgain returns the canonical forms of another counter that folds the events, after its pass.
func countAgain(t *testing.T, list []logged) map[string]string {
	t.Helper()
	r := newRetained(t)
	for part := range slices.Chunk(list, 4) {
		r.fold(part)
		r.flush()
	}
	for range 40 {
		r.flush()
	}
	if !settled(t, r.s) {
		t.Fatal("the pass of the recount does not end")
	}
	return canonicalForms(r.s)
}

func settled(t *testing.T, s *store) bool {
	t.Helper()
	return must(Settled(s.task().Get))
}

func (s *store) clone() *store {
	out := *s
	out.tables, out.next, out.localNext = map[byte]map[string][]byte{}, maps.Clone(s.next), maps.Clone(s.localNext)
	for table, rows := range s.tables {
		out.tables[table] = maps.Clone(rows)
	}
	return &out
}

// TestReplayInPass compares a recount with a counter after each transaction of a pass, which moves
// a row: while the days are closed, and while further events of them arrive. The states are equal
// when both are settled, and differ before. A charge that a row has too much, at any time, is still
// a difference when the counter is settled.
func TestReplayInPass(t *testing.T) {
	for name, more := range map[string]logged{
		"idle":                  {},
		"events of closed days": {"c2", 20231114, time.Date(2023, 11, 18, 17, 0, 0, 0, time.UTC)},
		"events of open days":   {"c2", 20231118, time.Date(2023, 11, 18, 17, 0, 0, 0, time.UTC)},
		"further days close":    {"c4", 20231119, time.Date(2023, 11, 22, 12, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			list, r := closingDays(), newRetained(t)
			r.fold(list)
			unsettled, wrong := 0, 0
			for step := 0; step < 3 || !settled(t, r.s); step++ {
				if step > 40 {
					t.Fatal("the pass does not end")
				}
				if more.campaign != "" && step < 5 {
					r.fold([]logged{more})
					list = append(list, more)
				}
				r.flush()
				want, equal := countAgain(t, list), false
				if equal = maps.Equal(canonicalForms(r.s), want); settled(t, r.s) && !equal {
					t.Fatalf("step %d: the settled state differs:\n%q\n%q", step, canonicalForms(r.s), want)
				}
				if !settled(t, r.s) && !equal {
					unsettled++
				}
				for key := range r.s.tables[TableSpend] {
					other := &retained{t: t, cfg: r.cfg, s: r.s.clone()}
					other.s.overcharge(t, key)
					other.settle()
					if !settled(t, other.s) || maps.Equal(canonicalForms(other.s), want) {
						t.Fatalf("step %d: a charge too much in row %q is not found", step, key)
					}
					wrong++
				}
			}
			if unsettled < 3 || wrong < 20 {
				t.Errorf("%d steps of the pass differed from the recount, and %d wrong rows were found", unsettled, wrong)
			}
		})
	}
}

// overcharge adds a click to a row and to the sums of the task.
func (s *store) overcharge(t *testing.T, key string) {
	m := s.spends(t)[key]
	m.ByDc[0].ChargedMicros++
	s.tables[TableSpend][key] = marshal(t, m)
	state := s.taskState(t)
	state.Origins[0].Micros++
	s.tables[TableTask][TaskKey] = marshal(t, state)
}

// TestPassContinues restarts a counter after each transaction of a pass: the pass looks at as many
// rows as without a restart, and does not begin again after its end. Without its progress in the
// task record, as in the state of an earlier version, it begins again and finds what is left.
func TestPassContinues(t *testing.T) {
	looks := func(after func(r *retained)) int {
		r := newRetained(t)
		r.fold(closingDays())
		r.flush()
		for range 40 {
			after(r)
			r.flush()
		}
		if !settled(t, r.s) {
			t.Fatal("the pass does not end")
		}
		r.settle()
		return r.s.ranged
	}
	restart := func(r *retained) { r.c = mustNew(t, r.cfg, r.s) }
	want := looks(func(*retained) {})
	if got := looks(restart); got != want {
		t.Errorf("%d rows are looked at with restarts, %d without", got, want)
	}
	forgotten := looks(func(r *retained) {
		state := r.s.taskState(t)
		state.Pass = nil
		if restarts := r.s.ranged; restarts < 3*want {
			r.s.tables[TableTask][TaskKey] = marshal(t, state)
		}
		restart(r)
	})
	if forgotten <= want {
		t.Errorf("%d rows are looked at without the progress, %d with it", forgotten, want)
	}
}

// TestPromotionBeginsPass: a promotion brings rows of closed days into a settled state. Its task
// record has no progress of a pass, so that the next pass moves them.
func TestPromotionBeginsPass(t *testing.T) {
	live, replay := newRetained(t), newRetained(t)
	for _, r := range []*retained{live, replay} {
		r.fold(closingDays())
		r.flush()
	}
	live.settle()
	for account, table := range map[string]byte{"a": TableSpend, "": TableTask} {
		s := live.s.clone()
		cm := stream.Commit{NowMs: epochMs}
		p := must(ProcessorConfig{DC: "local"}.Promotion(account, s.task().Get, cm))
		var ch stream.Changes
		for _, table := range []byte{TableSpend, table} {
			for _, key := range slices.Sorted(maps.Keys(keysOf(s.tables[table], replay.s.tables[table]))) {
				was, is := s.tables[table][key], replay.s.tables[table][key]
				if bytes.Equal(was, is) {
					continue
				}
				if take := must(p.Take(table, []byte(key), was, is)); !take {
					t.Fatalf("row %q is not taken", key)
				}
				if is == nil {
					ch.Delete(table, []byte(key))
				} else {
					ch.Put(table, []byte(key), must(p.Rewrite(table, []byte(key), is)))
				}
			}
		}
		if err := p.Finish(&ch); err != nil {
			t.Fatal(err)
		}
		s.apply(&ch)
		if settled(t, s) {
			t.Errorf("account %q: settled after the promotion", account)
		}
		after := &retained{t: t, cfg: live.cfg, s: s}
		after.settle()
		after.want(fmt.Sprintf("account %q", account), live.charged())
	}
}

func keysOf(tables ...map[string][]byte) map[string]bool {
	out := map[string]bool{}
	for _, table := range tables {
		for key := range table {
			out[key] = true
		}
	}
	return out
}

// TestSettledReads: no state is settled, the state of another layout is not comparable, and a
// damaged task record is an error.
func TestSettledReads(t *testing.T) {
	for name, c := range map[string]struct {
		record []byte
		want   bool
		fails  bool
	}{
		"none":             {nil, true, false},
		"open":             {marshal(t, &spendpb.TaskState{Layout: stateLayout}), true, false},
		"earlier version":  {marshal(t, &spendpb.TaskState{Layout: stateLayout, ClosedDay: 20231114}), false, false},
		"in a pass":        {marshal(t, &spendpb.TaskState{Layout: stateLayout, ClosedDay: 20231114, Pass: &spendpb.Pass{DoneDay: 20231113, Day: 20231114}}), false, false},
		"done":             {marshal(t, &spendpb.TaskState{Layout: stateLayout, ClosedDay: 20231114, Pass: &spendpb.Pass{DoneDay: 20231114}}), true, false},
		"of other layouts": {marshal(t, &spendpb.TaskState{Layout: 1}), false, false},
		"damaged":          {[]byte{0xff}, false, true},
	} {
		got, err := Settled(func(table byte, key []byte) ([]byte, error) { return c.record, nil })
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	progress := &spendpb.TaskState{Layout: stateLayout, Pass: &spendpb.Pass{DoneDay: 20231113, Day: 20231114, From: []byte("k")}}
	without := proto.CloneOf(progress)
	without.Pass = nil
	if a, b := Canonical(TableTask, nil, marshal(t, progress)), Canonical(TableTask, nil, marshal(t, without)); !bytes.Equal(a, b) {
		t.Error("the canonical form has the progress of the pass")
	}
}
