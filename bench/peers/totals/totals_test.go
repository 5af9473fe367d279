package totals

import (
	"encoding/json"
	"testing"

	"github.com/weirhq/weir/events"
)

func view(account, campaign string, day int32) *events.View {
	return &events.View{Account: []byte(account), Campaign: []byte(campaign), BudgetDay: day, EventMs: 1_767_268_800_000}
}

func TestTotals(t *testing.T) {
	one := Key(nil, view("acct-000001", "camp-0000001", 20260101))
	two := Key(nil, view("acct-000002", "camp-0000002", 20260102))
	var got Totals
	for _, e := range []struct{ key, value []byte }{{one, Value(nil, 12, 2)}, {two, Value(nil, 1, 1)}} {
		if err := got.Add(e.key, e.value); err != nil {
			t.Fatal(err)
		}
	}
	// The test of the Java program has the same figures.
	if want := (Totals{Keys: 2, Micros: 13, Events: 3, Digest: 7864336223302784614}); got != want {
		t.Errorf("Totals %+v, want %+v", got, want)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"keys":2,"micros":13,"events":3,"digest":"6d23bc20c8331666"}`
	if string(text) != want {
		t.Errorf("JSON %s, want %s", text, want)
	}
	var back Totals
	if err := json.Unmarshal(text, &back); err != nil || back != got {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestDigestDetectsExchangedValues(t *testing.T) {
	digest := func(first, second int64) Totals {
		var s Totals
		for i, micros := range []int64{first, second} {
			if err := s.Add([]byte{byte(i)}, Value(nil, micros, 1)); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	a, b := digest(5, 7), digest(7, 5)
	if a.Micros != b.Micros || a.Events != b.Events || a.Keys != b.Keys {
		t.Fatalf("the sums of %+v and %+v should be equal", a, b)
	}
	if a.Digest == b.Digest {
		t.Error("two counts with exchanged values have the same digest")
	}
}

func TestKeyWithoutBudgetDay(t *testing.T) {
	if with, without := Key(nil, view("a", "c", 20260101)), Key(nil, view("a", "c", 0)); string(with) != string(without) {
		t.Errorf("key %q without a budget day, want that of the event's day, %q", without, with)
	}
}

func TestSumsOfAnotherLength(t *testing.T) {
	if _, _, err := Sums(make([]byte, 15)); err == nil {
		t.Error("15 bytes were read as a value")
	}
	if err := new(Totals).Add(nil, make([]byte, 17)); err == nil {
		t.Error("17 bytes were added as a value")
	}
}
