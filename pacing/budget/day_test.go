package budget

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

// TestLifetime: a campaign that spends its budget of each day spends its lifetime budget exactly,
// and about as much per hour on each day.
func TestLifetime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLimit(Lifetime).Draw(t, "limit")
		loc, err := zone(rapid.SampledFrom(zones()).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		d := &Document{Campaigns: []Campaign{{ID: "c", Limit: l}}}
		n := len(l.Flights)
		if n == 0 || l.Flights[n-1].End == NoEnd {
			return
		}
		spent := int64(0)
		for day := l.Flights[0].Begin; day <= l.Flights[n-1].End; day = day.Add(1) {
			p, _ := d.Day("c", day, loc)
			limit := p.Limits[0]
			budget := limit.Budget(spent)
			runs := false
			for _, f := range l.Flights {
				runs = runs || f.Begin <= day && day <= f.End
			}
			if limit.Running != runs || !runs && budget != 0 || budget < 0 || budget > l.Micros-spent {
				t.Fatalf("%s: running %t, want %t; budget %d of %d left", day, limit.Running, runs, budget, l.Micros-spent)
			}
			spent += budget
		}
		if spent != l.Micros {
			t.Fatalf("spent %d of %d", spent, l.Micros)
		}
		if late, _ := d.Day("c", l.Flights[n-1].End, loc); late.Limits[0].Budget(l.Micros+1) != 0 {
			t.Fatal("a budget that is overspent has something left")
		}
	})
}

// TestNextFlight: the first flight that begins after a day.
func TestNextFlight(t *testing.T) {
	l := Limit{Flights: []Flight{{20260101, 20260110}, {20260120, 20260131}, {20260301, NoEnd}}}
	for day, want := range map[events.Day]events.Day{
		20251231: 20260101, 20260101: 20260120, 20260115: 20260120, 20260131: 20260301, 20260301: 0, 20270101: 0,
	} {
		if got := l.NextFlight(day); got != want {
			t.Errorf("after %d: %d, want %d", day, got, want)
		}
	}
	if got := (&Limit{}).NextFlight(20260101); got != 0 {
		t.Errorf("without flights: %d", got)
	}
}

// TestAverage: no day has more than the cap, and no month more than its days in flights.
func TestAverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLimit(AverageDaily).Draw(t, "limit")
		d := &Document{Campaigns: []Campaign{{ID: "c", Limit: l}}}
		month := events.Day(2026_00_01 + 100*rapid.IntRange(1, 12).Draw(t, "month"))
		spent, days, all := int64(0), int64(0), int64(0)
		for day := month; day/100 == month/100; day = day.Add(1) {
			p, _ := d.Day("c", day, time.UTC)
			limit := p.Limits[0]
			if limit.Running {
				days++
			}
			budget := limit.Budget(spent)
			if most := l.Micros/PPM*int64(l.CapPPM) + l.Micros%PPM*int64(l.CapPPM)/PPM; budget < 0 || budget > most {
				t.Fatalf("%s: budget %d, the cap is %d", day, budget, most)
			}
			all += limit.Budget(all)
			// Some days spend nothing, and make room for others.
			spent += budget * rapid.Int64Range(0, 1).Draw(t, "spends")
		}
		if spent > l.Micros*days || all != l.Micros*days {
			t.Fatalf("spent %d, and %d if each day spends its budget, in %d days of %d", spent, all, days, l.Micros)
		}
	})
	d := &Document{Campaigns: []Campaign{{ID: "c", Limit: Limit{Kind: AverageDaily, Micros: 100, CapPPM: 2 * PPM}}}}
	for spent, want := range map[int64]int64{0: 148, 900: 100, 1900: 48, 2800: 0, 9000: 0, -5: 148} { // 19 days are left
		if p, _ := d.Day("c", 20260210, time.UTC); p.Limits[0].Budget(spent) != want {
			t.Errorf("after %d the budget is %d, want %d", spent, p.Limits[0].Budget(spent), want)
		}
	}
	p, _ := d.Day("c", 20260228, time.UTC)
	if l := p.Limits[0]; l.From != 20260201 || l.PeriodMicros != 2800 || l.Budget(2600) != 200 || l.Budget(2750) != 50 || l.Budget(0) != 200 {
		t.Errorf("the last day of February: %+v", l)
	}
}

// TestWithinMonth: an amount that is new or changed within a month counts for all of it, and that
// of a flight from its begin on.
func TestWithinMonth(t *testing.T) {
	limit := Limit{Kind: AverageDaily, Micros: 100, CapPPM: 2 * PPM}
	for _, c := range []struct {
		flights         []Flight
		micros, at      int64
		spent, want, to int64
	}{
		{nil, 100, 20260920, 0, 200, 20260930}, // new: the cap
		{[]Flight{{20260920, NoEnd}}, 100, 20260920, 0, 100, 20260930},
		{[]Flight{{20260920, NoEnd}}, 100, 20261001, 0, 100, 20261031},
		{nil, 200, 20260916, 1500, 300, 20260930}, // doubled on the 16th
	} {
		limit.Micros, limit.Flights = c.micros, c.flights
		d := &Document{Campaigns: []Campaign{{ID: "c", Limit: limit}}}
		spent := c.spent
		for day := events.Day(c.at); day <= events.Day(c.to); day = day.Add(1) {
			p, _ := d.Day("c", day, time.UTC)
			if got := p.Limits[0].Budget(spent); got != c.want {
				t.Errorf("%+v on %s: %d, want %d", c, day, got, c.want)
			}
			spent += c.want
		}
	}
}

// TestAncestors: a campaign has its own budget, then those above it from the nearest up; its arms
// never have more than its budget.
func TestAncestors(t *testing.T) {
	d, err := Decode([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	loc, err := d.Location()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := d.Day("launch", 20261224, loc)
	if !ok || len(p.Limits) != 3 || p.Limits[0].Campaign != "launch" || p.Limits[1].Shared != "brand" || p.Limits[2].Shared != "all" {
		t.Fatalf("%t %+v", ok, p)
	}
	if left := p.Limits[0].Budget(19_000_000_000); left != 1_000_000_000 { // the last day of the last flight
		t.Errorf("%d is left", left)
	}
	if p, _ := d.Day("launch", 20261201, loc); p.Limits[0].Running || p.Limits[0].Budget(0) != 0 || !p.Limits[1].Running {
		t.Errorf("between flights: %+v", p.Limits)
	}
	if p, _ := d.Day("below", 20261201, loc); len(p.Limits) != 1 || p.Limits[0].Budget(1) != 89_999_999_999 {
		t.Errorf("a campaign without a budget of its own: %+v", p.Limits)
	}
	if _, ok := d.Day("other", 20261201, loc); ok {
		t.Error("a campaign that is not in the document has a budget")
	}
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(0, 31*MaxMicros).Draw(t, "micros")
		first := rapid.Int32Range(1, PPM-1).Draw(t, "share")
		a, b := Arm{"a", first}.Budget(micros), Arm{"b", PPM - first}.Budget(micros)
		if a < 0 || b < 0 || a+b > micros || a+b < micros-2 {
			t.Fatalf("%d + %d of %d", a, b, micros)
		}
	})
}
