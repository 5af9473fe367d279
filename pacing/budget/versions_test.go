package budget

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// added is a document with the time of its record.
type added struct {
	d  *Document
	ms int64
}

// slowAt is the version in force by its definition, of all that were added.
func slowAt(all []added, ms int64) (best *Document) {
	for _, a := range all {
		if a.d.EffectiveMs <= ms && (best == nil || Compare(a.d, best) > 0) {
			best = a.d
		}
	}
	return best
}

func text(v Versions) (s string) {
	for _, d := range v.List {
		s += string(d.Encode()) + "\n"
	}
	return s + fmt.Sprint(v.HorizonMs)
}

// TestVersions: the version in force is the greatest one that holds, from the horizon on; the
// versions do not depend on the order of the records, nor on repetitions.
func TestVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []added
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			d := &Document{
				Account: "acme", Version: rapid.Uint64Range(1, 6).Draw(t, "version"), Zone: "UTC", Currency: "EUR",
				EffectiveMs: rapid.Int64Range(0, 6).Draw(t, "effective") * HistoryMs,
				Campaigns:   []Campaign{{ID: "c", Limit: Limit{Kind: Daily, Micros: rapid.Int64Range(0, 2).Draw(t, "micros")}}},
			}
			all = append(all, added{d, rapid.Int64Range(0, 8).Draw(t, "time") * HistoryMs})
		}
		var v Versions
		for _, a := range all {
			before := text(v)
			next := v.Add(a.d, a.ms)
			if text(v) != before {
				t.Fatal("Add has changed its receiver")
			}
			v = next
		}
		for ms := v.HorizonMs; ms <= 9*HistoryMs; ms += HistoryMs / 2 {
			if got, want := v.At(ms), slowAt(all, ms); got == nil != (want == nil) || got != nil && Compare(got, want) != 0 {
				t.Fatalf("at %d: %+v, want %+v", ms, got, want)
			}
		}
		latest := slices.MaxFunc(all, func(a, b added) int { return Compare(a.d, b.d) })
		if Compare(v.Latest(), latest.d) != 0 {
			t.Fatalf("latest: %+v, want %+v", v.Latest(), latest.d)
		}
		for i := 1; i < len(v.List); i++ {
			if v.List[i-1].Version >= v.List[i].Version || v.List[i-1].EffectiveMs >= v.List[i].EffectiveMs {
				t.Fatalf("the versions are not in order:\n%s", text(v))
			}
		}
		var other Versions
		again := append(slices.Clone(all), all[:len(all)/2]...)
		for _, a := range rapid.Permutation(again).Draw(t, "order") {
			other = other.Add(a.d, a.ms)
		}
		if text(other) != text(v) {
			t.Fatalf("in another order\n%s\nwant\n%s", text(other), text(v))
		}
	})
}

// TestOlderVersion: a smaller version that comes later changes nothing, whatever it holds from.
func TestOlderVersion(t *testing.T) {
	doc := func(version uint64, effective int64) *Document {
		return &Document{Account: "acme", Version: version, Zone: "UTC", Currency: "EUR", EffectiveMs: effective}
	}
	v := Versions{}.Add(doc(7, 0), 100)
	if v = v.Add(doc(6, 0), 200); len(v.List) != 1 || v.Latest().Version != 7 {
		t.Errorf("%s", text(v))
	}
	v = v.Add(doc(8, 5000), 300) // holds later
	if v = v.Add(doc(6, 4000), 400); len(v.List) != 2 || v.At(4999).Version != 7 || v.At(5000).Version != 8 {
		t.Errorf("%s", text(v))
	}
	if v = v.Add(doc(9, 1000), 500); v.At(5000).Version != 9 || v.At(999).Version != 7 { // replaces what was to begin later
		t.Errorf("%s", text(v))
	}
	if none := (Versions{}); none.At(1) != nil || none.Latest() != nil {
		t.Error("no version is in force before the first")
	}
}
