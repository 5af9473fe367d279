package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhq/weir/bench/peers/figures"
)

// measured returns runs on a machine that gets slower. The ratio to exactly once is 4 in each
// round. At-least-once missed a round, so the ratio of the medians would be wrong.
func measured() *report {
	r := &report{Events: 1000, Rate: 100, Missing: []figures.Missing{{What: "a system", Why: "no Maven"}}}
	for round, speed := range []float64{4e6, 2e6, 1e6} {
		run := func(system string, kills int, c copied) {
			r.Copies = append(r.Copies, copyRun{round, system, kills, c})
		}
		run(exactlyOnce, 0, copied{perSecond: speed / 4, seconds: 20, peak: 1 << 30 << round})
		run(weir, 0, copied{perSecond: speed, seconds: 10})
		if round > 0 {
			run(atLeastOnce, 0, copied{perSecond: speed / 10, seconds: 30})
		}
		run(atLeastOnce, 3, copied{seconds: 60, differences: differences{Duplicates: 7}})
		run(weir, 3, copied{seconds: 40})
		r.Latencies = append(r.Latencies, latencyRun{round, weir, latency{p50: 0.1, p99: float64(round + 1), max: 9, peak: 1 << 29}})
	}
	return r
}

func TestReport(t *testing.T) {
	r := measured()
	var text, doc bytes.Buffer
	if err := r.writeText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `
a copy of 1000 events
SYSTEM                        ROUNDS  M EVENTS/S  MIN..MAX      WEIR / IT  MIN..MAX      SECONDS  DIFFERENCES  PEAK GIB
weir                          3       2.000       1.000..4.000  1.00       1.00..1.00    10.0     0            -
mirrormaker 2, exactly once   3       0.500       0.250..1.000  4.00       4.00..4.00    20.0     0            4.0
mirrormaker 2, at least once  2       0.150       0.100..0.200  10.00      10.00..10.00  30.0     0            -

a copy of 1000 events with kills; differences of all rounds
SYSTEM                        ROUNDS  KILLS  DUPLICATES  LOST  DISORDERED  ALTERED  SECONDS  MIN..MAX
weir                          3       9      0           0     0           0        40.0     40.0..40.0
mirrormaker 2, at least once  3       9      21          0     0           0        60.0     60.0..60.0

seconds until a record is visible, at 100 events/s
SYSTEM  ROUNDS  P50    MIN..MAX      P99    MIN..MAX      PEAK GIB
weir    3       0.100  0.100..0.100  2.000  1.000..3.000  0.5
a system: no Maven: not measured
`
	if got := "\n" + text.String(); got != want {
		t.Errorf("tables:%swant:%s", got, want)
	}
	if err := r.writeJSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back document
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rates) != 3 || back.Rates[1] != r.rates()[1] || len(back.Kills) != 2 || back.Kills[1].Duplicates != 21 || len(back.Latencies) != 1 {
		t.Errorf("JSON %s reads back as %+v", doc.String(), back)
	}
	if !strings.Contains(doc.String(), `"duplicates": 21,`) || r.slowest() != 150_000 {
		t.Errorf("slowest %d, JSON %s", r.slowest(), doc.String())
	}
}

// TestDifferencesOfWeirAreAnError: those of MirrorMaker are not.
func TestDifferencesOfWeirAreAnError(t *testing.T) {
	r := measured()
	if err := r.check(); err != nil {
		t.Errorf("%v, with differences of MirrorMaker only", err)
	}
	for _, d := range []differences{{Duplicates: 1}, {Lost: 1}, {Disordered: 1}, {Altered: 1}} {
		r := measured()
		last := &r.Copies[len(r.Copies)-1]
		if last.system != weir || last.kills == 0 {
			t.Fatalf("the last run is of %s with %d kills", last.system, last.kills)
		}
		last.differences = d
		if err := r.check(); err == nil || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("%s: error %v", d, err)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	var r *report
	if !r.empty() || !(&report{}).empty() || measured().empty() {
		t.Error("empty is wrong")
	}
	if got := (&report{}).slowest(); got != 0 {
		t.Errorf("the slowest of no system copies %d", got)
	}
}
