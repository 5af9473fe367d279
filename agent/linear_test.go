package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weirhq/weir/lease"
)

// verdict returns the violation in a history; "" means that the history is correct.
func (r *linearRun) verdict(history []*linearCall) string {
	if wrong := overlaps(history, r.terms()); len(wrong) > 0 {
		return strings.Join(wrong, "\n")
	}
	whole := r.illegal(history)
	if whole == "" {
		return ""
	}
	calls := slices.SortedFunc(slices.Values(history), func(a, b *linearCall) int { return int(a.done - b.done) })
	n := sort.Search(len(calls), func(i int) bool { return r.illegal(until(history, calls[i].done)) != "" })
	if n == len(calls) {
		return "only the whole history is illegal: " + whole
	}
	return fmt.Sprintf("no result of this call is explained: %v\nin the shortest history with it: %s", calls[n], r.illegal(until(history, calls[n].done)))
}

// until returns a history as it was at a position: calls that had not returned have an unknown
// outcome.
func until(history []*linearCall, position int64) (past []*linearCall) {
	for _, c := range history {
		switch {
		case c.done <= position:
			past = append(past, c)
		case c.call < position:
			running := *c
			running.got, running.err = Lease{}, ErrUnavailable
			running.back, running.done = forever, forever
			past = append(past, &running)
		}
	}
	return past
}

// illegal returns why no order of a history's calls explains their results, "" if one does.
func (r *linearRun) illegal(history []*linearCall) string {
	model := linearModel(r.terms())
	for _, part := range model.Partition(operations(history)) {
		result, info := porcupine.CheckOperationsVerbose(model, part, time.Minute)
		if result != porcupine.Ok {
			return fmt.Sprintf("%s: no order of these calls explains what came of them: + are those of the longest that does, in its order\n%s", result, longest(part, info))
		}
	}
	return ""
}

// longest returns the greatest number of a key's calls that some order explains, and the rest.
func longest(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var most []porcupine.Operation
	for _, some := range info.PartialLinearizationsOperations()[0] {
		if len(some) > len(most) {
			most = some
		}
	}
	var lines []string
	in := map[*linearCall]bool{}
	for _, o := range most {
		c := o.Input.(*linearCall)
		in[c] = true
		lines = append(lines, fmt.Sprintf("+ %4d..%-20d %v", c.call, o.Return, c))
	}
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, o := range part {
		if c := o.Input.(*linearCall); !in[c] {
			lines = append(lines, fmt.Sprintf("- %4d..%-20d %v", c.call, o.Return, c))
		}
	}
	return strings.Join(lines, "\n")
}

// Fifty agents work on one table with all faults of the emulator. Some order of their calls
// explains all results, and no resource is leased to two keys.
func TestLinearizable(t *testing.T) {
	runs, first := linearNumber(t, "WEIR_TEST_LINEAR_RUNS", 16), linearNumber(t, "WEIR_TEST_LINEAR_SEED", 0)
	if testing.Short() {
		runs = 5
	}
	outcomes := map[string]int{}
	for seed := first; seed < first+runs; seed++ {
		r := linearDefaults(seed)
		history := r.run(t)
		if v := r.verdict(history); v != "" {
			t.Errorf("seed %d: %s", seed, v)
		}
		for _, c := range history {
			outcomes[c.outcome()]++
		}
	}
	t.Log(outcomes)
	if testing.Short() {
		return // too few runs for all outcomes
	}
	for _, o := range []string{"get", "get exhausted", "get unknown", "renew", "renew unknown", "renew stale", "renew ended", "release", "release unknown", "release stale"} {
		if outcomes[o] == 0 {
			t.Errorf("no %s in %d runs: %v: an outcome that does not occur is not tested", o, runs, outcomes)
		}
	}
}

// linearNumber returns the value of an environment variable, or n.
func linearNumber(t *testing.T, variable string, n uint64) uint64 {
	t.Helper()
	if s := os.Getenv(variable); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// run makes a history in virtual time.
func (r *linearRun) run(t *testing.T) (history []*linearCall) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { history = r.hostile(t) })
	return history
}

func (c *linearCall) outcome() string {
	switch {
	case c.err == nil:
		return c.op
	case c.unknown():
		return c.op + " unknown"
	}
	for name, err := range map[string]error{"exhausted": ErrExhausted, "stale": ErrStale, "ended": ErrEnded, "released": ErrReleased} {
		if errors.Is(c.err, err) {
			return c.op + " " + name
		}
	}
	return c.op + ": " + c.err.Error()
}

// Mutation test: agents without a condition of one rule violate the specification.
func TestLinearCatchesMutants(t *testing.T) {
	always := []lease.Condition{{Attr: lease.AttrWinner, Test: lease.Absent}} // holds for every row of this test
	for _, m := range []struct {
		name string
		rule func(*lease.Rules) *lease.Rule
		rare bool // not found in every run
		slow bool // found in one of 20 runs: make sim-agents looks for it
	}{
		{"take", func(r *lease.Rules) *lease.Rule { return &r.Take }, false, false},
		{"claim", func(r *lease.Rules) *lease.Rule { return &r.Claim }, true, false},
		{"reclaim", func(r *lease.Rules) *lease.Rule { return &r.Reclaim }, true, true},
		{"repoint", func(r *lease.Rules) *lease.Rule { return &r.Repoint }, false, false},
		{"settle", func(r *lease.Rules) *lease.Rule { return &r.Settle }, true, false},
		{"renew", func(r *lease.Rules) *lease.Rule { return &r.Renew }, false, false},
		{"extend", func(r *lease.Rules) *lease.Rule { return &r.Extend }, true, false},
		{"release", func(r *lease.Rules) *lease.Rule { return &r.Release }, false, false},
		{"liberate", func(r *lease.Rules) *lease.Rule { return &r.Liberate }, false, false},
		{"drop", func(r *lease.Rules) *lease.Rule { return &r.Drop }, true, false},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.rare && testing.Short() {
				t.Skip("needs more runs than -short allows")
			}
			if m.slow && os.Getenv("WEIR_TEST_LINEAR_RUNS") == "" {
				t.Skip("takes up to a minute: make sim-agents runs it")
			}
			for seed := range uint64(200) {
				r := linearDefaults(seed)
				r.broken = func(rules *lease.Rules) { m.rule(rules).When = always }
				if v := r.verdict(r.run(t)); v != "" {
					t.Logf("seed %d: %.400s", seed, v)
					return
				}
			}
			t.Errorf("no violation with agents that %s at any version", m.name)
		})
	}
}

// Histories written by hand: the first is correct, each other one has one violation.
func TestLinearCatchesHistories(t *testing.T) {
	r := linearRun{skew: 10 * time.Millisecond, quarantine: 100 * time.Millisecond}
	granted := func(resource string, token, end int64) Lease {
		return Lease{Resource: resource, Token: token, Expires: time.UnixMilli(end)}
	}
	for _, c := range []struct {
		name  string
		wrong bool
		edit  func(h []*linearCall)
	}{
		{"correct", false, func([]*linearCall) {}},
		{"two resources for a key", true, func(h []*linearCall) { h[1].got = granted("r2", 7, 1900) }},
		{"a lease is lost", true, func(h []*linearCall) { h[1].got, h[1].err = Lease{}, ErrExhausted }},
		{"a lease gets longer without a renewal", true, func(h []*linearCall) { h[1].got = granted("r1", 2, 1900) }},
		{"a token gets smaller", true, func(h []*linearCall) { h[2].got = granted("r1", 1, 2500) }},
		{"a renewal is lost", true, func(h []*linearCall) { h[3].got = granted("r1", 2, 1800) }},
		{"a renewal shortens", true, func(h []*linearCall) { h[2].got, h[3].got = granted("r1", 3, 1800), granted("r1", 3, 1800) }},
		{"an old token is renewed", true, func(h []*linearCall) { h[4].err, h[4].got = nil, granted("r1", 4, 2600) }},
		{"a valid token is refused", true, func(h []*linearCall) { h[5].err = ErrStale }},
		{"a release is lost", true, func(h []*linearCall) { h[6].got = granted("r1", 3, 2500) }},
		{"an end that no call requested", true, func(h []*linearCall) { h[6].got = granted("r1", 5, 2777) }},
		{"another resource too early", true, func(h []*linearCall) { h[6].got = granted("r2", 7, 2700) }},
		{"begun twice", true, func(h []*linearCall) { h[1].got.New = true }},
		{"two keys on a resource", true, func(h []*linearCall) { h[7].got = granted("r1", 9, 4000) }},
		{"two keys on a resource, with a smaller token", true, func(h []*linearCall) { h[8].got = granted("r1", 4, 4100) }},
		{"a resource without quarantine", true, func(h []*linearCall) { h[8].at, h[8].back = 2750, 2760 }},
		{"a key without a lease", true, func(h []*linearCall) { h[9].got, h[9].err = Lease{}, ErrExhausted }},
	} {
		history := []*linearCall{
			{op: "get", key: "k", until: 1800, got: granted("r1", 2, 1800)},
			{op: "get", key: "k", until: 1900, got: granted("r1", 2, 1800)},
			{op: "renew", key: "k", until: 2500, had: granted("r1", 2, 1800), got: granted("r1", 3, 2500)},
			{op: "get", key: "k", until: 2550, got: granted("r1", 3, 2500)},
			{op: "renew", key: "k", until: 2600, had: granted("r1", 2, 1800), err: ErrStale},
			{op: "release", key: "k", had: granted("r1", 3, 2500)},
			{op: "get", key: "k", until: 2700, got: granted("r1", 5, 2700)},
			{op: "get", key: "m", until: 4000, got: granted("r3", 2, 4000)},
			{op: "get", key: "n", until: 4100, got: granted("r1", 7, 4100)},
			{op: "get", key: "m", until: 4200, got: granted("r3", 2, 4000)},
		}
		history[0].got.New = true
		for i, call := range history {
			call.agent, call.call, call.done = i, int64(2*i+1), int64(2*i+2)
			call.at, call.back = int64(1000+10*i), int64(1005+10*i)
			if i >= 8 {
				call.at, call.back = call.at+2000, call.back+2000
			}
		}
		c.edit(history)
		if v := r.verdict(history); (v != "") != c.wrong {
			t.Errorf("%s: %q", c.name, v)
		}
	}
}

// A released lease may be released once more by another user of the key, also after the key row was
// claimed for the next lease, until that claim is complete. A second read of the key row shows that
// it is lost.
func TestLinearReleasedTwice(t *testing.T) {
	r := linearRun{skew: 10 * time.Millisecond, quarantine: 100 * time.Millisecond}
	for _, c := range []struct {
		name  string
		done  int64 // return time of the next get
		wrong bool
	}{{"during the next get", 20, false}, {"after the next get", 6, true}} {
		granted := func(token int64) Lease {
			return Lease{Resource: "r1", Token: token, Expires: time.UnixMilli(2800)}
		}
		history := []*linearCall{
			{op: "get", until: 2800, got: granted(2), call: 1, done: 2},
			{op: "release", had: granted(2), call: 3, done: 4},
			{op: "get", until: 2800, got: granted(4), call: 5, done: c.done},
			{op: "release", had: granted(2), err: ErrStale, call: 7, done: 8},
			{op: "release", had: granted(2), call: 9, done: 10},
		}
		history[0].got.New, history[2].got.New = true, true
		for i, h := range history {
			h.agent, h.key, h.at, h.back = i, "k", 1000+10*h.call, 1005+10*h.done
		}
		if v := r.verdict(history); (v != "") != c.wrong {
			t.Errorf("%s: %q", c.name, v)
		}
	}
}

// A release completes renewals of other users that it finds half done, any number of them, and then
// ends the renewed lease. It cannot end a lease whose renewals were complete before the release
// began.
func TestLinearHealsTwice(t *testing.T) {
	r := linearRun{skew: 10 * time.Millisecond, quarantine: 100 * time.Millisecond}
	for _, c := range []struct {
		name  string
		call  int64 // of the release
		wrong bool
	}{{"during two renewals", 3, false}, {"during the second renewal", 13, true}, {"after both", 19, true}} {
		granted := func(token, end int64) Lease {
			return Lease{Resource: "r1", Token: token, Expires: time.UnixMilli(end)}
		}
		history := []*linearCall{
			{op: "get", until: 2800, got: granted(2, 2800), call: 1, done: 2},
			{op: "release", had: granted(2, 2800), call: c.call, done: 30},
			{op: "renew", until: 2900, had: granted(2, 2800), got: granted(3, 2900), call: 9, done: 10},
			{op: "get", until: 2820, got: granted(3, 2900), call: 11, done: 12},
			{op: "renew", until: 2850, had: granted(3, 2900), err: ErrUnavailable, call: 14, done: 16},
			{op: "get", until: 2830, got: granted(4, 2900), call: 17, done: 18},
			{op: "get", until: 2900, got: granted(6, 2900), call: 31, done: 32},
		}
		history[0].got.New, history[6].got.New = true, true
		for i, h := range history {
			h.agent, h.key, h.at, h.back = i, "k", 1000+10*h.call, 1005+10*h.done
		}
		if v := r.verdict(history); (v != "") != c.wrong {
			t.Errorf("%s: %q", c.name, v)
		}
	}
}
