package budget

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowAt is the version in force by its definition, of all that were added.
func slowAt(all []*Document, ms int64) (best *Document) {
	for _, d := range all {
		if d.EffectiveMs <= ms && (best == nil || Compare(d, best) > 0) {
			best = d
		}
	}
	return best
}

func text(v Versions) (s string) {
	for _, d := range v.List {
		s += string(d.Encode()) + "\n"
	}
	return s
}

// TestVersions: the version in force at any time is the greatest one that holds, and there is one
// from the first on; the versions do not depend on the order of the records, nor on repetitions.
func TestVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*Document
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			all = append(all, &Document{
				Account: "acme", Version: rapid.Uint64Range(1, 6).Draw(t, "version"), Zone: "UTC", Currency: "EUR",
				EffectiveMs: rapid.Int64Range(0, 6).Draw(t, "effective") * 100,
				Campaigns:   []Campaign{{ID: "c", Limit: Limit{Kind: Daily, Micros: rapid.Int64Range(0, 2).Draw(t, "micros")}}},
			})
		}
		var v Versions
		for _, d := range all {
			before, inForce := text(v), v.At(350)
			next := v.Add(d)
			if text(v) != before {
				t.Fatal("Add has changed its receiver")
			}
			if v = next; inForce != nil && v.At(350) == nil {
				t.Fatalf("no version is in force any more, before %+v\n%s", inForce, text(v))
			}
		}
		for ms := int64(0); ms <= 700; ms += 50 {
			if got, want := v.At(ms), slowAt(all, ms); got == nil != (want == nil) || got != nil && Compare(got, want) != 0 {
				t.Fatalf("at %d: %+v, want %+v", ms, got, want)
			}
		}
		for from := int64(0); from <= 700; from += 50 {
			kept := v.From(from)
			for ms := from; ms <= 700; ms += 50 {
				if kept.At(ms) != v.At(ms) {
					t.Fatalf("from %d, at %d: %+v", from, ms, kept.At(ms))
				}
			}
			if len(kept.List) > 1 && kept.List[1].EffectiveMs <= from {
				t.Fatalf("from %d: a version is kept that another one has replaced\n%s", from, text(kept))
			}
		}
		if latest := slices.MaxFunc(all, Compare); Compare(v.Latest(), latest) != 0 {
			t.Fatalf("latest: %+v, want %+v", v.Latest(), latest)
		}
		for i := 1; i < len(v.List); i++ {
			if v.List[i-1].Version >= v.List[i].Version || v.List[i-1].EffectiveMs >= v.List[i].EffectiveMs {
				t.Fatalf("the versions are not in order:\n%s", text(v))
			}
		}
		var other Versions
		again := append(slices.Clone(all), all[:len(all)/2]...)
		for _, d := range rapid.Permutation(again).Draw(t, "order") {
			other = other.Add(d)
		}
		if text(other) != text(v) {
			t.Fatalf("in another order\n%s\nwant\n%s", text(other), text(v))
		}
	})
}

// TestFull: an account has 100 scheduled versions at most, and 400 of all. A document that replaces
// another one is never refused for them.
func TestFull(t *testing.T) {
	doc := func(version uint64, effective int64) *Document {
		return &Document{Account: "acme", Version: version, EffectiveMs: effective}
	}
	var v Versions
	for i := range uint64(MaxVersions) {
		v = v.Add(doc(i+1, int64(i)+1))
	}
	for _, c := range []struct {
		effective, now int64
		want           string
	}{
		{401, 300, "101 versions that hold later"},
		{401, 301, "401 versions with effective_from"},
		{400, 300, ""}, // replaces the last one
		{400, 250, ""},
		{401, 250, "151 versions that hold later"},
		{200, 250, ""},
		{0, 0, ""},
		{401, 500, "401 versions with effective_from"},
	} {
		if got := v.Full(doc(1000, c.effective), c.now); got == "" != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := v.Add(doc(1000, 0)); len(got.List) != 1 {
		t.Errorf("%d versions after one that replaces all", len(got.List))
	}
}

// TestOlderVersion: a smaller version that comes later changes nothing, whatever it holds from.
func TestOlderVersion(t *testing.T) {
	doc := func(version uint64, effective int64) *Document {
		return &Document{Account: "acme", Version: version, Zone: "UTC", Currency: "EUR", EffectiveMs: effective}
	}
	v := Versions{}.Add(doc(7, 0))
	if v = v.Add(doc(6, 0)); len(v.List) != 1 || v.Latest().Version != 7 {
		t.Errorf("%s", text(v))
	}
	v = v.Add(doc(8, 5000)) // holds later
	if v = v.Add(doc(6, 4000)); len(v.List) != 2 || v.At(4999).Version != 7 || v.At(5000).Version != 8 {
		t.Errorf("%s", text(v))
	}
	if v = v.Add(doc(9, 1000)); v.At(5000).Version != 9 || v.At(999).Version != 7 { // replaces what was to begin later
		t.Errorf("%s", text(v))
	}
	if none := (Versions{}); none.At(1) != nil || none.Latest() != nil {
		t.Error("no version is in force before the first")
	}
}
