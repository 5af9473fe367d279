package budget

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

// TestDayBegin compares DayBegin with a search minute by minute on the days of 2011 and 2026 in
// which a clock changes, and on their neighbours.
func TestDayBegin(t *testing.T) {
	lengths := map[int64]int{}
	for _, name := range zones() {
		loc, err := zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, year := range []int{2011, 2026} {
			for at := time.Date(year, 1, 2, 12, 0, 0, 0, loc); at.Year() == year; {
				_, end := at.ZoneBounds()
				if end.IsZero() || end.Year() > year {
					end = at.AddDate(0, 6, 0)
				}
				for off := -2; off <= 2; off++ {
					day := dayOf(end.UTC().AddDate(0, 0, off))
					got, want := DayBegin(day, loc), slowBegin(day, loc)
					if got != want {
						t.Errorf("%s begins in %s at %s, want %s", day, name, time.UnixMilli(got).In(loc), time.UnixMilli(want).In(loc))
					}
					lengths[(DayBegin(next(day), loc)-got)/60_000]++
				}
				at = end.Add(time.Hour)
			}
		}
	}
	// Lord Howe changes its clocks by half an hour; Samoa has skipped a day.
	for _, minutes := range []int64{0, 23 * 60, 23*60 + 30, 24 * 60, 24*60 + 30, 25 * 60} {
		if lengths[minutes] == 0 {
			t.Errorf("no day has %d minutes: %v", minutes, lengths)
		}
		delete(lengths, minutes)
	}
	if len(lengths) > 0 {
		t.Errorf("further lengths of days: %v", lengths)
	}
}

// slowBegin is DayBegin by the definition of a date.
func slowBegin(day events.Day, loc *time.Location) int64 {
	at := time.Date(int(day)/10_000, time.Month(int(day)/100%100), int(day)%100, 0, 0, 0, 0, time.UTC).Add(-26 * time.Hour)
	for events.DayOf(at.UnixMilli(), loc) < day {
		at = at.Add(time.Minute)
	}
	return at.UnixMilli()
}

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
		for day := l.Flights[0].Begin; day <= l.Flights[n-1].End; day = next(day) {
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

// TestAverage: no day has more than the cap, and no month more than its days in flights.
func TestAverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLimit(AverageDaily).Draw(t, "limit")
		d := &Document{Campaigns: []Campaign{{ID: "c", Limit: l}}}
		month := events.Day(2026_00_01 + 100*rapid.IntRange(1, 12).Draw(t, "month"))
		spent, days := int64(0), int64(0)
		for day := month; day/100 == month/100; day = next(day) {
			p, _ := d.Day("c", day, time.UTC)
			limit := p.Limits[0]
			if limit.Running {
				days++
			}
			budget := limit.Budget(spent)
			if most := l.Micros/PPM*int64(l.CapPPM) + l.Micros%PPM*int64(l.CapPPM)/PPM; budget < 0 || budget > most {
				t.Fatalf("%s: budget %d, the cap is %d", day, budget, most)
			}
			// Some days spend nothing, and make room for others.
			spent += budget * rapid.Int64Range(0, 1).Draw(t, "spends")
		}
		if spent > l.Micros*days {
			t.Fatalf("spent %d in %d days of %d", spent, days, l.Micros)
		}
	})
	d := &Document{Campaigns: []Campaign{{ID: "c", Limit: Limit{Kind: AverageDaily, Micros: 100, CapPPM: 2 * PPM}}}}
	p, _ := d.Day("c", 20260228, time.UTC)
	if l := p.Limits[0]; l.From != 20260201 || l.PeriodMicros != 2800 || l.Budget(2600) != 200 || l.Budget(2750) != 50 || l.Budget(0) != 200 {
		t.Errorf("the last day of February: %+v", l)
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
