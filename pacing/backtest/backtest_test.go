package backtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without zone files

	"pgregory.net/rapid"
)

const slotMs = 300_000

// begin is midnight of 1 June 2026 in UTC.
const begin = 1_780_272_000_000

// busy adds days of a campaign: most is spent in the afternoon.
func busy(r *Recording, campaign string, days int, scale float64) {
	for i := range days * 288 {
		hour := float64(i%288) / 12
		micros := scale * (1 + 0.8*math.Sin((hour-8)/24*2*math.Pi)) * (1 + 0.1*float64(i*7919%11)/11)
		r.Add(campaign, Row{begin + int64(i)*slotMs, micros, float64(i % 3)})
	}
}

func paced(t testing.TB, r *Recording, cfg Config) ([]Day, map[string]Result) {
	t.Helper()
	days, err := r.Days(cfg)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]Result{}
	for _, c := range Contenders() {
		results[c.Name] = Run(days, c)
	}
	return days, results
}

// text describes a result without its curves.
func text(r *Result) string {
	return fmt.Sprintf("%s: overspend %.4f %%, utilisation %.2f %%, AvgErr %.2f %%, KS %.2f %%, value %g, %d scarce days", r.Name, 100*r.Overspend,
		100*r.Utilisation, 100*r.AvgErr, 100*r.KS, r.Value, r.Scarce)
}

// TestGoals: on days that are like each other, the default spends the budget, and is at least twice
// as close to the plan as PTR at 60 s. A controller that does nothing is far from it.
func TestGoals(t *testing.T) {
	r := &Recording{}
	busy(r, "a", 4, 1e6)
	busy(r, "b", 4, 3e4)
	days, results := paced(t, r, Config{})
	if len(days) != 8 {
		t.Fatalf("%d days", len(days))
	}
	ratio, ptr, asap, best := results["ratio"], results["ptr-60s"], results["asap"], results[Best]
	if ratio.Utilisation < 0.99 || ratio.Overspend > 0.001 || 2*ratio.AvgErr > ptr.AvgErr || ratio.KS > 0.05 || ratio.Scarce != 8 {
		t.Errorf("%s\n%s", text(&ratio), text(&ptr))
	}
	// The plan of the first day is uniform, and wants more in the morning than can be spent.
	if asap.KS < 0.3 || best.KS > 0.04 || best.Overspend != 0 {
		t.Errorf("%s\n%s", text(&asap), text(&best))
	}
}

// TestHandMade: a day of two slots, by hand. Half of 600 can be spent in each half of the day; with
// a budget of 300, asap spends 300 before noon.
func TestHandMade(t *testing.T) {
	r := &Recording{}
	r.Add("c", Row{begin, 600, 6})
	r.Add("c", Row{begin + 12*3_600_000, 600, 0})
	days, err := r.Days(Config{Slot: 12 * time.Hour, BudgetMicros: 300})
	if err != nil || len(days) != 1 || days[0].Could != 1200 {
		t.Fatalf("%+v, %v", days, err)
	}
	asap := Run(days, Contenders()[1])
	// 300 are spent at 06:00, when 6/23 of the plan, which ends at 23:00, are spent.
	if math.Abs(asap.KS-(1-6/23.0)) > 1e-6 || math.Abs(asap.Value*300/1e6-3) > 1e-6 || asap.Utilisation < 0.999999 {
		t.Error(text(&asap))
	}
	// 24 slots have 4 times the mean, less 96/92 of the plan; 68 have none of it; 4 have none
	// planned.
	plan := 96 / 92.0
	want := math.Sqrt((24*(4-plan)*(4-plan) + 68*plan*plan) / 96)
	if math.Abs(asap.AvgErr-want) > 1e-6 {
		t.Errorf("AvgErr %.6f, want %.6f", asap.AvgErr, want)
	}
	best := Run(days, Contenders()[0])
	if best.AvgErr > 1e-9 || math.Abs(best.Value*300/1e6-1.5*24/23) > 0.01 {
		t.Error(text(&best))
	}
}

// TestNoHindsight: a plan depends on no row of its own day or of a later one, but for the window.
func TestNoHindsight(t *testing.T) {
	r, changed := &Recording{}, &Recording{}
	busy(r, "a", 3, 1e6)
	for i, row := range r.times["a"] {
		if i >= 576 {
			row.Micros = float64(1 + i*i%1000)
		}
		changed.Add("a", row)
	}
	a, _ := paced(t, r, Config{})
	b, _ := paced(t, changed, Config{})
	for i := range a {
		for ms := a[i].Window.BeginMs; ms < a[i].Window.EndMs; ms += slotMs {
			if a[i].Plan.Share(ms) != b[i].Plan.Share(ms) {
				t.Fatalf("day %d, %d: %v and %v", i, ms, a[i].Plan.Share(ms), b[i].Plan.Share(ms))
			}
		}
	}
	if noon := begin + int64(2.5*86_400_000); a[2].Plan.Share(noon) == 12/23.0 {
		t.Error("nothing was learnt")
	}
}

// TestWindow: a day is from its first to its last row, or whole within the flight.
func TestWindow(t *testing.T) {
	r := &Recording{}
	for _, hour := range []int64{20, 21, 24 + 6, 24 + 7, 48 + 10} {
		r.Add("a", Row{begin + hour*3_600_000, 100, 0})
	}
	for whole, want := range map[bool]string{false: "[20-22 30-32 58-59]", true: "[20-24 24-48 48-59]"} {
		days, _ := paced(t, r, Config{Slot: time.Hour, WholeDays: whole})
		var got []string
		for _, d := range days {
			got = append(got, fmt.Sprintf("%d-%d", (d.Window.BeginMs-begin)/3_600_000, (d.Window.EndMs-begin)/3_600_000))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("whole days %t: %v, want %s", whole, got, want)
		}
	}
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	if days, _ := paced(t, r, Config{Slot: time.Hour, Location: loc}); len(days) != 3 || days[0].Day != 20260601 || days[1].Day != 20260602 {
		t.Errorf("%d days, the first is %s", len(days), days[0].Day)
	}
}

// TestParent: the plan of a new campaign is learnt from up to 14 budget days of all campaigns, of
// which none decides by its size, its name, or its short time.
func TestParent(t *testing.T) {
	r := &Recording{}
	const hour = 3_600_000
	for day := range int64(6) {
		for h := range int64(24) {
			at := begin + (day*24+h)*hour
			r.Add("huge", Row{at, 1e9, 0})                        // even
			r.Add("z-short", Row{begin + (day*24+3)*hour, 50, 0}) // 03:00 alone, which it fills
			for i := range 20 {
				r.Add(fmt.Sprintf("small-%02d", i), Row{at, 100 * float64(h+1), 0}) // rises
			}
		}
	}
	for h := range int64(24) {
		r.Add("new", Row{begin + (5*24+h)*hour, 1, 0})
	}
	days, err := r.Days(Config{Slot: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		if d.Campaign != "new" {
			continue
		}
		// By hand: 20 of 21 campaigns have (h+1)/300 in hour h, the other one 1/24. 3 uniform days
		// count for 3 days beside the 5 that were.
		want, sum := 0.0, 0.0
		for h := range 23 { // the plan ends at 23:00
			share := (20*float64(h+1)/300 + 1.0/24) / 21
			if h < 12 {
				want += (5*share + 3.0/24) / 8
			}
			sum += (5*share + 3.0/24) / 8
		}
		if got := d.Plan.Share(begin + (5*24+12)*hour); math.Abs(got-want/sum) > 0.01 {
			t.Errorf("%.4f of the budget by noon, want %.4f", got, want/sum)
		}
		return
	}
	t.Fatal("no day of the new campaign")
}

// TestLongSlots: hours learn the same from slots of any length in which the spend is even, and a
// slot that goes beyond a day is of both days in part.
func TestLongSlots(t *testing.T) {
	kolkata, err := time.LoadLocation("Asia/Kolkata") // 5.5 h ahead
	if err != nil {
		t.Fatal(err)
	}
	for _, loc := range []*time.Location{time.UTC, kolkata} {
		var want []Day
		for _, slot := range []time.Duration{10 * time.Second, 90 * time.Second, time.Hour, 6 * time.Hour, 24 * time.Hour} {
			r := &Recording{}
			for at := int64(0); at < 72*3_600_000; at += slot.Milliseconds() {
				r.Add("c", Row{begin + at, slot.Seconds(), slot.Seconds()})
			}
			days, err := r.Days(Config{Slot: slot, Location: loc})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = days
			}
			if len(days) != len(want) {
				t.Fatalf("%s %s: %d days, want %d", loc, slot, len(days), len(want))
			}
			for i, d := range days {
				if d.Day != want[i].Day || d.Window != want[i].Window || math.Abs(d.Could-want[i].Could) > 1e-6 {
					t.Errorf("%s %s: %s %+v %.1f, want %s %+v %.1f", loc, slot, d.Day, d.Window, d.Could, want[i].Day, want[i].Window, want[i].Could)
				}
				a, b := d.hours(loc), want[i].hours(loc)
				for h := range a.Hours {
					if math.Abs(a.Hours[h].Micros-b.Hours[h].Micros) > 1e-6 || math.Abs(a.Hours[h].Minutes-b.Hours[h].Minutes) > 1e-6 {
						t.Errorf("%s %s: hour %d has %+v, want %+v", loc, slot, h, a.Hours[h], b.Hours[h])
					}
				}
			}
		}
	}
}

// TestValueWithin: the value is that of the spend within the budget: what overspend has bought does
// not count.
func TestValueWithin(t *testing.T) {
	r := &Recording{}
	r.Add("c", Row{begin, 1000, 500})
	days, err := r.Days(Config{Slot: 10 * time.Second, BudgetMicros: 300})
	if err != nil {
		t.Fatal(err)
	}
	if asap := Run(days, Contenders()[1]); math.Abs(asap.Overspend-700/300.0) > 1e-9 || math.Abs(asap.Value-0.5e6) > 1e-3 {
		t.Error(text(&asap))
	}
}

// TestProperties: whatever was recorded, no more is spent than could be, and the budget is exceeded
// by one tick at most. The order of rows, the unit of money and the date change nothing.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := &Recording{}, &Recording{}
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		const week = 7 * 86_400_000
		for i := range n {
			campaign := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "campaign")
			row := Row{begin + slotMs*rapid.Int64Range(0, 400).Draw(t, "slot"), float64(rapid.IntRange(0, 1000).Draw(t, "micros")), 1}
			a.Add(campaign, row)
			row.AtMs += week
			row.Micros *= 1024 // exact: a rounding decides whether one more tick is spent
			if i%2 == 0 {      // another order
				b.Add(campaign, row)
				continue
			}
			half := row
			half.Micros, half.Value = row.Micros/2, 0
			row.Micros /= 2
			b.Add(campaign, half)
			b.Add(campaign, row)
		}
		cfg := Config{BudgetShare: rapid.Float64Range(0.05, 2).Draw(t, "share"), WholeDays: rapid.Bool().Draw(t, "whole")}
		days, err := a.Days(cfg)
		other, err2 := b.Days(cfg)
		if err != nil || err2 != nil {
			if (err == nil) != (err2 == nil) || !errors.Is(err, ErrInput) {
				t.Fatalf("%v and %v", err, err2)
			}
			return
		}
		budgets, most := 0.0, 0.0
		for _, d := range days {
			budgets += d.Budget
			for _, s := range d.slots {
				most = max(most, s.Micros*tickMs/slotMs)
			}
		}
		for _, c := range Contenders() {
			x, y := Run(days, c), Run(other, c)
			if !(x.Utilisation >= 0 && x.Utilisation <= 1+1e-9 && x.Overspend >= 0 && x.Overspend*budgets <= float64(len(days))*most+1e-9) {
				t.Fatal(text(&x))
			}
			if math.Abs(x.AvgErr-y.AvgErr) > 1e-6 || math.Abs(x.Utilisation-y.Utilisation) > 1e-6 || math.Abs(x.KS-y.KS) > 1e-6 {
				t.Fatalf("%s\n%s", text(&x), text(&y))
			}
		}
	})
}

// TestRefused: rows that are all further apart than a slot, and wrong configurations.
func TestRefused(t *testing.T) {
	r := &Recording{}
	for i := range int64(20) {
		r.Add("hourly", Row{begin + i*3_600_000, 1, 0})
	}
	if _, err := r.Days(Config{}); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no two rows of a campaign are closer than 1h0m0s") {
		t.Error(err)
	}
	sparse := &Recording{} // a campaign with few rows does not make a file one of hours
	busy(sparse, "often", 1, 1e6)
	for _, row := range r.times["hourly"] {
		sparse.Add("rarely", row)
	}
	if days, err := sparse.Days(Config{}); err != nil || len(days) != 2 {
		t.Errorf("%d days, %v", len(days), err)
	}
	for _, cfg := range []Config{
		{Slot: 7 * time.Second}, {Slot: 11 * time.Minute}, {Slot: -time.Hour}, {BudgetShare: -1}, {BudgetShare: math.NaN()}, {BudgetMicros: -1},
	} {
		if _, err := r.Days(cfg); !errors.Is(err, ErrInput) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if days, err := new(Recording).Days(Config{}); err != nil || len(days) != 0 {
		t.Errorf("%v, %v", days, err)
	}
	old := &Recording{}
	old.Add("a", Row{-1e15, 1, 0})
	if _, err := old.Days(Config{}); !errors.Is(err, ErrInput) {
		t.Error(err)
	}
}

// TestSVG: the picture is XML, with a plan and a curve for each controller in each panel, names
// that are escaped, and colours for both schemes.
func TestSVG(t *testing.T) {
	r := &Recording{}
	busy(r, "a<b>&c", 2, 1e6)
	days, results := paced(t, r, Config{})
	list := []Result{results["ratio"], results["ptr-60s"]}
	var out bytes.Buffer
	if err := SVG(&out, days, list, time.UTC); err != nil {
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
	if paths != len(days)*3 || strings.Contains(picture, "NaN") || !strings.Contains(picture, "prefers-color-scheme:dark") || !strings.Contains(picture, ">08:00<") ||
		!strings.Contains(picture, ">100 %<") || !strings.Contains(picture, ">ptr-60s<") {
		t.Errorf("%d paths in\n%s", paths, picture)
	}
	if err := SVG(io.Discard, days[:1], list, time.UTC); !errors.Is(err, ErrInput) {
		t.Error(err)
	}
}
