package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/bench/peers/figures"
)

// rounds returns samples of three systems on a machine that gets slower. The ratio to Kafka Streams
// is 4 in each round. The ratio of the medians would be wrong for goka, which missed a round.
func rounds() []sample {
	var all []sample
	peaks := map[string]int64{weir: 1 << 30, streams: 3 << 29} // of the first round
	for round, speed := range []float64{4e6, 2e6, 1e6} {
		at := func(commit time.Duration, system string, perSecond float64) sample {
			return sample{keys: "even", commit: commit, round: round, system: system, perSecond: perSecond, peak: peaks[system] << round}
		}
		all = append(all, at(time.Second, weir, speed), at(time.Second, streams, speed/4))
		if round > 0 {
			all = append(all, at(time.Second, goka, speed/10))
		}
		all = append(all, at(100*time.Millisecond, weir, speed/2))
	}
	return all
}

func TestTabulate(t *testing.T) {
	got := tabulate(rounds())
	want := []row{
		{Keys: "even", Commit: "1s", System: weir, Rounds: 3, PerSecond: 2e6, Min: 1e6, Max: 4e6, Ratio: 1, RatioMin: 1, RatioMax: 1, Peak: 4 << 30},
		{Keys: "even", Commit: "1s", System: streams, Rounds: 3, PerSecond: 5e5, Min: 25e4, Max: 1e6, Ratio: 4, RatioMin: 4, RatioMax: 4, Peak: 6 << 30},
		{Keys: "even", Commit: "100ms", System: weir, Rounds: 3, PerSecond: 1e6, Min: 5e5, Max: 2e6, Ratio: 1, RatioMin: 1, RatioMax: 1, Peak: 4 << 30},
		{Keys: "even", Commit: "1s", System: goka, Rounds: 2, PerSecond: 15e4, Min: 1e5, Max: 2e5, Ratio: 10, RatioMin: 10, RatioMax: 10},
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestTabulateWithoutWeir(t *testing.T) {
	got := tabulate([]sample{{keys: "even", commit: time.Second, system: streams, perSecond: 5e5}})
	if len(got) != 1 || got[0].Ratio != 0 || got[0].PerSecond != 5e5 {
		t.Errorf("rows %+v, want one without a ratio", got)
	}
}

func TestReport(t *testing.T) {
	r := &report{Events: 1000, Rows: tabulate(rounds()), Missing: []figures.Missing{{What: goka, Why: "the module of goka could not be fetched"}}}
	var text, doc bytes.Buffer
	if err := r.writeText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `
KEYS  COMMIT  SYSTEM         ROUNDS  M EVENTS/S  MIN..MAX      WEIR / IT  MIN..MAX      PEAK GIB
even  1s      weir           3       2.000       1.000..4.000  1.00       1.00..1.00    4.0
even  1s      kafka streams  3       0.500       0.250..1.000  4.00       4.00..4.00    6.0
even  100ms   weir           3       1.000       0.500..2.000  1.00       1.00..1.00    4.0
even  1s      goka           2       0.150       0.100..0.200  10.00      10.00..10.00  -
goka: the module of goka could not be fetched: not measured
`
	if got := "\n" + text.String(); got != want {
		t.Errorf("table:%swant:%s", got, want)
	}
	if err := r.writeJSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != 4 || back.Rows[1] != r.Rows[1] || len(back.Missing) != 1 || back.Missing[0] != r.Missing[0] {
		t.Errorf("JSON %s reads back as %+v", doc.String(), back)
	}
	if !strings.Contains(doc.String(), `"weir_ratio": 4,`) {
		t.Errorf("JSON %s has no weir_ratio", doc.String())
	}
}
