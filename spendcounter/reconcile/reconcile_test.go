package reconcile

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
)

// draw returns events of a few campaign days of two accounts, with prices of 0 and more.
func draw(rng *rand.Rand) (list []Event) {
	for i := range 200 {
		list = append(list, Event{
			ID: strconv.Itoa(i), Micros: rng.Int64N(5),
			CampaignDay: CampaignDay{
				Account: "a" + strconv.Itoa(rng.IntN(2)), Campaign: "c" + strconv.Itoa(rng.IntN(3)), Day: 20261101 + 1, Currency: "USD",
			},
		})
		if rng.IntN(2) == 0 {
			list[i].Day--
		}
	}
	return list
}

// TestOneChange: the log is counted, one row of the file is changed, and the change is found, with
// its line and offset. Nothing else is.
func TestOneChange(t *testing.T) {
	other := func(e *Event) {
		if e.Campaign = "other"; e.Micros == 0 {
			e.Micros = 1 // an event without a price changes no sum
		}
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		log := draw(rng)
		file := append([]Event(nil), log...)
		rng.Shuffle(len(file), func(i, j int) { file[i], file[j] = file[j], file[i] })
		at := rng.IntN(len(file))
		offset, err := strconv.Atoi(file[at].ID)
		if err != nil {
			t.Fatal(err)
		}
		place := Place{Topic: "ads.events", Partition: 3, Offset: int64(offset)}
		log[offset].Micros++ // it has a price
		file[at].Micros++
		want := []Finding{{ID: file[at].ID, Line: at + 2, Place: place, File: file[at], Log: log[offset]}}
		switch kind := rng.IntN(6); kind {
		case 0:
			file[at].Micros++
			want[0].Kind, want[0].File = Price, file[at]
		case 1:
			other(&file[at])
			want[0].Kind, want[0].File = Day, file[at]
		case 2:
			file = append(file, file[at])
			want = []Finding{{Kind: Twice, ID: file[at].ID, Line: len(file) + 1, File: file[at]}}
		case 3:
			file = append(file[:at:at], file[at+1:]...)
			want[0].Kind, want[0].Line, want[0].File = OnlyInLog, 0, Event{}
		case 4:
			file[at].ID = "new"
			want[0].Kind, want[0].Place, want[0].Log, want[0].ID, want[0].File = OnlyInFile, Place{}, Event{}, "new", file[at]
			want = append(want, Finding{Kind: OnlyInLog, ID: log[offset].ID, Place: place, Log: log[offset]})
		default:
			want = nil
		}
		s := &Statement{}
		counted := map[CampaignDay]Sum{}
		for _, e := range file {
			if err := s.Add(e.CampaignDay, e.Micros); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range log {
			sum := counted[e.CampaignDay]
			counted[e.CampaignDay] = Sum{sum.Events + 1, sum.Micros + e.Micros}
		}
		for d, sum := range counted {
			s.Count(d, sum)
		}
		list := s.Differences(false)
		if len(want) == 2 { // another id leaves the sums as they are
			if len(list) > 0 {
				t.Fatalf("seed %d: %v differ", seed, list)
			}
			list = []Difference{{CampaignDay: file[at].CampaignDay}}
		}
		var days []CampaignDay
		for _, d := range list {
			days = append(days, d.CampaignDay)
		}
		if (len(want) == 0) != (len(list) == 0) {
			t.Fatalf("seed %d: %v differ, want %v", seed, list, want)
		}
		parts := 1 + rng.IntN(3)
		var got []Finding
		for part := range parts {
			m := NewMatcher(1000, days)
			m.Part, m.Parts = part, parts
			for i, e := range file {
				if err := m.File(i+2, e); err != nil {
					t.Fatal(err)
				}
			}
			for i, e := range log {
				for range 1 + rng.IntN(2) { // a copy in another topic
					if err := m.Log(Place{Topic: "ads.events", Partition: 3, Offset: int64(i)}, e); err != nil {
						t.Fatal(err)
					}
				}
			}
			got = append(got, m.Findings()...)
		}
		if Sort(got); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: found\n%+v\nwant\n%+v", seed, got, want)
		}
	}
}

// TestCounts: events without a price are compared only if it is asked for.
func TestCounts(t *testing.T) {
	s, d := &Statement{}, CampaignDay{"acme", "spring", 20261101, "USD"}
	s.Count(d, Sum{2, 10})
	if err := s.Add(d, 10); err != nil {
		t.Fatal(err)
	}
	if list := s.Differences(false); len(list) > 0 {
		t.Errorf("%v", list)
	}
	if list := s.Differences(true); len(list) != 1 || list[0] != (Difference{d, Sum{1, 10}, Sum{2, 10}}) {
		t.Errorf("%v", list)
	}
	first, last := s.Days()
	if days, sums := s.Totals(); days != 1 || sums["USD"] != (Sum{1, 10}) || first != last || first != 20261101 {
		t.Errorf("%d days, sums %v", days, sums)
	}
}

// TestLimits: a sum that does not fit and too many events are errors.
func TestLimits(t *testing.T) {
	s, d := &Statement{}, CampaignDay{"acme", "spring", 20261101, "USD"}
	if err := errors.Join(s.Add(d, math.MaxInt64), s.Add(d, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(d, 1); err == nil {
		t.Error("the sum has wrapped")
	}
	m := NewMatcher(2, []CampaignDay{d})
	if err := errors.Join(m.File(1, Event{"1", d, 1}), m.File(2, Event{"2", d, 1}), m.Log(Place{}, Event{"2", d, 1})); err != nil {
		t.Fatal(err)
	}
	if err := m.Log(Place{}, Event{"3", d, 1}); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}
