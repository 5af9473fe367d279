package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func recount(in []Input) map[int32]map[string]string {
	sums := map[int32]map[string]int64{}
	for _, r := range in {
		if sums[r.At.Partition] == nil {
			sums[r.At.Partition] = map[string]int64{}
		}
		sums[r.At.Partition][r.Key] += r.Amount
	}
	out := map[int32]map[string]string{}
	for p, m := range sums {
		out[p] = map[string]string{}
		for k, v := range m {
			out[p][k] = strconv.FormatInt(v, 10)
		}
	}
	return out
}

func total(v string) (int64, error) { return strconv.ParseInt(v, 10, 64) }

// good returns the history of a run without a bug: two partitions, three transactions each, one
// dead letter.
func good() *History {
	h := &History{Stores: map[int32]Store{}, Committed: map[int32]map[string]int64{}}
	for p := range int32(2) {
		state, next, log := map[string]int64{}, int64(0), int64(0)
		for seq := range uint64(3) {
			for range 4 {
				in := Input{At: Position{"in", p, next}, Key: fmt.Sprintf("k%d", next%3), Amount: next + 1}
				h.Inputs = append(h.Inputs, in)
				next++
				if p == 1 && in.At.Offset == 5 {
					h.DeadLetters = append(h.DeadLetters, in.At)
					continue
				}
				state[in.Key] += in.Amount
				h.Outputs = append(h.Outputs, Output{At: Position{"out", p, in.At.Offset}, Cause: in.At})
			}
			for _, k := range slices.Sorted(maps.Keys(state)) {
				h.Changelog = append(h.Changelog, Change{At: Position{"log", p, log}, Key: k, Value: strconv.FormatInt(state[k], 10)})
				log++
			}
			h.Changelog = append(h.Changelog, Change{At: Position{"log", p, log}, Marker: &Marker{Sequence: seq + 1, Epoch: 1, Next: map[string]int64{"in": next}}})
			log++
			h.Samples = append(h.Samples, Sample{Partition: p, Topic: "in", Stored: next - 4, Committed: next})
		}
		final := map[string]string{}
		for k, v := range state {
			final[k] = strconv.FormatInt(v, 10)
		}
		h.Stores[p] = Store{State: final, ChangelogNext: log, Next: map[string]int64{"in": next}}
		h.Committed[p] = map[string]int64{"in": next}
	}
	return h
}

//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var checkers = map[string]func(*History) error{
	"RUN-1": ExactlyOnce, "RUN-2": func(h *History) error { return Fold(h, recount) },
	"RUN-3": func(h *History) error { return Sum(h, total) },
	"RUN-4": ChangelogState, "RUN-5": StoreNotAhead, "RUN-6": OutputCause, "RUN-7": Transactions,
}

func TestGoodHistoryPasses(t *testing.T) {
	for name, checker := range checkers {
		if err := checker(good()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMutationsAreCaught injects bugs into a good history. The named checker must report each of
// them.
func TestMutationsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name, checker string
		mutate        func(*History)
	}{
		{"output lost", "RUN-1", func(h *History) { h.Outputs = h.Outputs[1:] }},
		{"output twice", "RUN-1", func(h *History) { h.Outputs = append(h.Outputs, h.Outputs[0]) }},
		{"folded and dead letter", "RUN-1", func(h *History) { h.DeadLetters = append(h.DeadLetters, h.Outputs[0].Cause) }},
		{"dead letter lost", "RUN-1", func(h *History) { h.DeadLetters = nil }},
		{"aborted input read", "RUN-1", func(h *History) { h.Outputs[0].Cause.Offset = 99 }},
		{"event folded twice", "RUN-2", func(h *History) { h.Stores[0].State["k0"] = "99" }},
		{"key lost", "RUN-2", func(h *History) { delete(h.Stores[0].State, "k1") }},
		{"key invented", "RUN-2", func(h *History) { h.Stores[0].State["x"] = "1" }},
		{"partition of no input", "RUN-2", func(h *History) { h.Stores[7] = Store{State: map[string]string{"x": "1"}} }},
		{"sum off by one", "RUN-3", func(h *History) { h.Stores[1].State["k1"] += "0" }},
		{"value unreadable", "RUN-3", func(h *History) { h.Stores[1].State["k1"] = "?" }},
		{"store ahead of the changelog", "RUN-4", func(h *History) { h.Stores[0].State["k0"] = "1000" }},
		{"changelog record lost", "RUN-4", func(h *History) { h.Changelog = slices.Delete(h.Changelog, 8, 9) }},
		{"deleted key comes back", "RUN-4", func(h *History) {
			h.Changelog[10].Delete, h.Changelog[10].Value = true, ""
		}},
		{"store ahead of the commit", "RUN-5", func(h *History) { h.Samples[1].Stored += 5 }},
		{"store ahead at the end", "RUN-5", func(h *History) { h.Committed[0]["in"]-- }},
		{"output without cause", "RUN-6", func(h *History) { h.Outputs[3].Cause.Partition = 9 }},
		{"marker skipped", "RUN-7", func(h *History) { h.Changelog = slices.Delete(h.Changelog, 7, 8) }},
		{"last marker missing", "RUN-7", func(h *History) { h.Changelog = h.Changelog[:len(h.Changelog)-1] }},
		{"zombie wrote", "RUN-7", func(h *History) { h.Changelog[3].Marker.Epoch = 7 }},
		{"read backwards", "RUN-7", func(h *History) { h.Changelog[7].Marker.Next["in"] = 1 }},
		{"first sequence", "RUN-7", func(h *History) { h.Changelog[3].Marker.Sequence = 2; h.Changelog[7].Marker.Sequence = 3 }},
	} {
		t.Run(m.name, func(t *testing.T) {
			h := good()
			m.mutate(h)
			err := checkers[m.checker](h)
			if err == nil {
				t.Fatalf("%s did not report the bug", m.checker)
			}
			if !strings.HasPrefix(err.Error(), m.checker+":") {
				t.Fatalf("%s reported %q", m.checker, err)
			}
		})
	}
}
