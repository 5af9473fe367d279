package backtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// TestSVG: the picture is XML with two curves and a key for each result, and colours for both
// schemes. Nothing is outside of its panels.
func TestSVG(t *testing.T) {
	tr := trace(t, "0 10 a", "1 10 a", "2 10 b", "5000 100 b", "5001 3")
	var results []*Result
	for _, policy := range []string{"fifo", "greedy", "delay:5s"} {
		results = append(results, run(t, tr, Config{Agents: agents(2), Load: 20 * time.Second, MaxWait: 15 * time.Second}, policy))
	}
	var out bytes.Buffer
	if err := SVG(&out, results); err != nil {
		t.Fatal(err)
	}
	picture, decoder, paths := out.String(), xml.NewDecoder(&out), 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			paths++
		}
	}
	if paths != 9 {
		t.Errorf("%d paths", paths)
	}
	for _, want := range []string{
		"prefers-color-scheme:dark", ">5 jobs; 2 agents; an agent has 1 slot, keeps 1 resource, and loads another one in 20s<", ">fifo: 0.0 % hits, mean wait 5.60 s<",
		">delay:5s: ", ">≤ 100 ms<", ">oldest first beyond 15 s<", ">95 %<", ">60 min<", "mean of ",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %q in\n%s", want, picture)
		}
	}
	for _, bad := range []string{"NaN", "Inf", `="-`} {
		if strings.Contains(picture, bad) {
			t.Errorf("%s in\n%s", bad, picture)
		}
	}
	for _, list := range [][]*Result{nil, make([]*Result, MaxLines+1)} {
		if err := SVG(io.Discard, list); !errors.Is(err, ErrConfig) {
			t.Error(err)
		}
	}
}

// TestCurves: the curves are those of waits that were computed by hand.
func TestCurves(t *testing.T) {
	tr := trace(t, "0 10", "0 10", "0 20", "0 12") // waits of 0, 10, 20 and 40 s until 52 s
	r := run(t, tr, Config{Agents: agents(1)}, "fifo")
	for ms, want := range map[float64]float64{0: 0.25, 9999: 0.25, 10_000: 0.5, 39_999: 0.75, 40_000: 1} {
		if got := r.within(ms); got != want {
			t.Errorf("%g of the jobs within %g ms, want %g", got, ms, want)
		}
	}
	// 10 bins are a second: 3 jobs wait until 10 s, 2 until 20 s, 1 until 40 s.
	jobs := r.waiting(52_000)
	for bin, want := range map[int]float64{0: 3, 99: 3, 100: 2, 199: 2, 200: 1, 399: 1, 400: 0, bins - 1: 0} {
		if math.Abs(jobs[bin]-want) > 1e-9 {
			t.Errorf("%g jobs wait in bin %d, want %g", jobs[bin], bin, want)
		}
	}
	// In bins of 11 s the second one has a mean over parts of two jobs.
	jobs = r.waiting(11_000 * bins)
	if want := 2*9.0/11 + 1*2.0/11; math.Abs(jobs[1]-want) > 1e-9 || math.Abs(jobs[0]-(3*10.0/11+2*1.0/11)) > 1e-9 {
		t.Errorf("%g and %g jobs wait in the first bins, want %g in the second one", jobs[0], jobs[1], want)
	}
	for most, want := range map[float64]float64{0: 0.2, 1: 0.2, 3: 1, 17: 5, 100: 20, 1234: 500} {
		if got := niceStep(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("steps of %g up to %g", got, most)
		}
	}
	for _, length := range []int64{1, 99, 5000, 7_000_000, 86_400_000, 400 * dayMs} {
		if step := timeStep(length); length/step > 12 || step < 1 {
			t.Errorf("steps of %d in %d ms", step, length)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.00 s", 1234 * time.Millisecond: "1.23 s", 98700 * time.Millisecond: "98.7 s", time.Hour: "3600 s"} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
