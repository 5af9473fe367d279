package backtest

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The goals: with 1.3 times the resources of ordinary days, with daily cycles, spikes and a swing,
// at most one lease in a hundred is refused and at most ten resources are moved for each hundred.
// The replaced policy refuses more than ten times as many.
func TestGoals(t *testing.T) {
	for seed := range uint64(2) {
		curves := Synthetic(6, seed)
		cfg := Config{Seed: seed + 1, Resources: int(1.3 * MostLeased(Daily(2)))}
		ours, theirs := simulate(t, curves, Weir, cfg), simulate(t, curves, ProportionalHourly, cfg)
		t.Logf("seed %d: ours refused %.3f %%, moved %.2f per 100; theirs %.3f %%, %.2f", seed, ours.RefusedPercent(), ours.MovedPer100(), theirs.RefusedPercent(), theirs.MovedPer100())
		if ours.RefusedPercent() > 1 || ours.MovedPer100() > 10 || theirs.RefusedPercent() < 10*ours.RefusedPercent() {
			t.Errorf("ours refused %.3f %%, theirs %.3f %%; we moved %.2f per 100", ours.RefusedPercent(), theirs.RefusedPercent(), ours.MovedPer100())
		}
	}
}

func simulate(t *testing.T, curves []Curve, policy string, cfg Config) *Result {
	t.Helper()
	res, err := Simulate(curves, policy, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The demand of one region grows by a factor of ten or thirty within a second. The first resources
// are in transit before the free ones of the region last for less than half a minute, or within
// five seconds of that, and no key is refused.
func TestBurst(t *testing.T) {
	const at, length = 4 * 3600, 60
	for seed := range uint64(20) {
		burst := 30 + 60*float64(seed%2) // a second
		var curves []Curve
		for r, name := range []string{"a", "b", "c"} {
			c := Curve{Region: name, Start: time.Unix(0, 0).UTC(), Step: time.Second, Rate: make([]float64, 5*3600)}
			for i := range c.Rate {
				switch {
				case r > 0 || i >= at+length:
					c.Rate[i] = 3
				case i >= at:
					c.Rate[i] = burst
				default: // just what the others can give
					c.Rate[i] = 0.5 + 2.5*min(1, float64(i)/(at-3600))
				}
			}
			curves = append(curves, c)
		}
		res := simulate(t, curves, Weir, Config{Seed: seed + 1, WarmUp: 3 * time.Hour, Resources: 52_000, Points: 5 * 3600})
		low, first := at, -1
		for low < at+length && res.Points[0][low].Free > int(30*burst) {
			low++
		}
		for _, m := range res.Moves {
			if m.To == "a" && m.Second >= at && first < 0 {
				first = m.Second
			}
		}
		t.Logf("low after %d s; the first move after %d s; %d of %d refused", low-at, first-at, res.Refused, res.Wanted)
		if first < 0 || first > low+5 || res.Refused > 0 {
			t.Errorf("seed %d: low after %d s, the first move after %d s, %d of %d were refused", seed, low-at, first-at, res.Refused, res.Wanted)
		}
	}
}

// dir has the recorded curves; they are not part of the project.
const dir = "../../../shared/data/traffic"

func recorded(t *testing.T, region, file string) Curve {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, file))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("no recorded traffic: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	c, err := Read(region, f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// donut returns three curves of a large site as three regions, eight hours apart.
func donut(t *testing.T, days int) []Curve {
	length := time.Duration(days) * 24 * time.Hour
	a := recorded(t, "us", "donut_server_res_eth1out_curve_6_42d.csv.gz").Cut(0, length).Scale(4)
	b := recorded(t, "eu", "donut_server_res_eth1out_curve_61_42d.csv.gz").Cut(0, length).Shift(8 * time.Hour).Scale(3)
	c := recorded(t, "ap", "donut_cpu4_42d.csv.gz").Cut(0, length).Shift(16 * time.Hour).Scale(2)
	b.Start, c.Start = a.Start, a.Start
	return []Curve{a, b, c}
}

func TestRecordedDays(t *testing.T) {
	rep, err := Run(donut(t, 4), Config{})
	if err != nil {
		t.Fatal(err)
	}
	logRows(t, rep)
	ours, theirs := rep.Result(Weir), rep.Result(ProportionalHourly)
	if ours.RefusedPercent() > 1 || ours.MovedPer100() > 10 || ours.Refused > theirs.Refused {
		t.Errorf("ours refused %.3f %% and moved %.2f per 100, theirs refused %.3f %%", ours.RefusedPercent(), ours.MovedPer100(), theirs.RefusedPercent())
	}
	draw(t, rep, "donut.svg")
}

// The last days of the World Cup's log before the first match: a growing crowd in one region within
// two days, and ordinary days in the others.
func TestRecordedFlashCrowd(t *testing.T) {
	cup := recorded(t, "fr", "worldcup98_minute_to_0609.csv.gz")
	cup = cup.Cut(time.Duration(cup.seconds())*time.Second-3*24*time.Hour, 3*24*time.Hour).Scale(4)
	curves := append(Daily(3)[1:], cup)
	for i := range curves {
		curves[i].Start = cup.Start
	}
	rep, err := Run(curves, Config{})
	if err != nil {
		t.Fatal(err)
	}
	logRows(t, rep)
	ours, theirs := rep.Result(Weir), rep.Result(ProportionalHourly)
	if ours.RefusedPercent() > 1 || ours.MovedPer100() > 10 || ours.Refused > theirs.Refused {
		t.Errorf("ours refused %.3f %% and moved %.2f per 100, theirs refused %.3f %%", ours.RefusedPercent(), ours.MovedPer100(), theirs.RefusedPercent())
	}
	draw(t, rep, "worldcup.svg")
}

func logRows(t *testing.T, rep *Report) {
	t.Helper()
	a, b := rep.Rows()
	for _, row := range append(a, b...) {
		t.Log(strings.Join(row, " | "))
	}
}

// draw checks that the picture is XML, and writes it to the directory WEIR_TEST_BACKTEST_SVG if
// that is set.
func draw(t *testing.T, rep *Report, name string) {
	t.Helper()
	var b bytes.Buffer
	if err := rep.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if to := os.Getenv("WEIR_TEST_BACKTEST_SVG"); to != "" {
		if err := os.WriteFile(filepath.Join(to, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Error("the picture has NaN or Inf")
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRead(t *testing.T) {
	text := "timestamp,value,label\n600,2,0\n900,-1,0\n1200,x,1\n1800,4,0\n2100,4,0\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, src := range []io.Reader{strings.NewReader(text), &z} {
		c, err := Read("eu", src)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Region, " ", c.Start.Unix(), " ", c.Step, " ", c.Rate); got != "eu 600 5m0s [2 0 0 0 4 4]" {
			t.Errorf("read %s", got)
		}
	}
	for _, bad := range []string{"", "a,b\n", "1,2\n", "1,2\n1,3\n", "1,2\nx,3\n", "1\n", "1,2\n2,3\n3,3\n90000,4\n", "\"", "1e99,1\n2e99,2\n"} {
		if _, err := Read("eu", strings.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if c, err := Read("eu", strings.NewReader("period,count\n1998-04-30 21:30:00,60\n1998-04-30 21:31:00,120\n")); err != nil || c.Scale(3).Rate[1] != 4 {
		t.Errorf("%v, %v", c, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("timestamp,value\n600,2\n900,3\n"))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Read("eu", bytes.NewReader(src))
		if err != nil {
			return
		}
		if c.Step < time.Second || len(c.Rate) < 2 {
			t.Errorf("%+v", c)
		}
	})
}

func TestBadCurves(t *testing.T) {
	for _, curves := range [][]Curve{nil, {{Region: "a"}}, append(Daily(1), Daily(2)[1]), append(Daily(1), Daily(1)[0]), {Daily(1)[0].Scale(1e9)}} {
		if _, err := Run(curves, Config{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%d curves: %v", len(curves), err)
		}
	}
	if _, err := Simulate(Daily(1), "best", Config{}); err == nil {
		t.Error("an unknown policy was run")
	}
	if _, err := Run(Daily(1), Config{Stock: -1}); err == nil {
		t.Error("a negative stock was accepted")
	}
}
