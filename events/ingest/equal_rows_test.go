package ingest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ids returns the ids of rows of which at most the first most different ones are counted.
func ids(most int, rows []string) (list []string) {
	h := newIDHasher("", FormatCSV)
	h.equal.most = most
	for i, row := range rows {
		h.begin(&rawRow{raw: []byte(row), number: uint64(i + 1)})
		list = append(list, h.derive(suffixRow), h.derive(suffixClick))
	}
	return list
}

// TestRowsKeepTheirIDs deletes rows of a file, moves and adds others. The rows that remain have ids
// that they had before: the n equal rows of a content have the first n ids of this content.
func TestRowsKeepTheirIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.SliceOfN(rapid.StringMatching("[ab]{1,3}"), 0, 40)
		before, after := contents.Draw(t, "before"), contents.Draw(t, "after")
		most := rapid.SampledFrom([]int{14, 1 << 20}).Draw(t, "most") // 14 contents match the expression
		expected := func(rows []string) (want []string) {
			count := map[string]int{}
			for _, row := range rows {
				want = append(want, fmt.Sprint(row, count[row], "row"), fmt.Sprint(row, count[row], "click"))
				count[row]++
			}
			return want
		}
		named := map[string]string{} // the ids by what they stand for
		for _, rows := range [][]string{before, after} {
			got := ids(most, rows)
			for i, name := range expected(rows) {
				if id, ok := named[name]; ok && id != got[i] {
					t.Fatalf("%s has id %s and id %s", name, id, got[i])
				}
				named[name] = got[i]
			}
		}
		distinct := map[string]bool{}
		for _, id := range named {
			distinct[id] = true
		}
		if len(distinct) != len(named) {
			t.Fatalf("%d ids for %d events", len(distinct), len(named))
		}
	})
}

// TestRowsBeyondTheLimit: rows of a content that is not counted have different ids too, the same
// ones each time, and the rows of counted contents keep theirs.
func TestRowsBeyondTheLimit(t *testing.T) {
	rows := []string{"a", "b", "c", "a", "c", "d", "c", "b"}
	got := ids(2, rows)
	if again := ids(2, rows); !slices.Equal(got, again) {
		t.Errorf("ids %q and then %q", got, again)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(got))); len(distinct) != len(got) {
		t.Errorf("%d of %d ids are different", len(distinct), len(got))
	}
	counted := ids(2, []string{"a", "b", "a", "b"})
	for i, at := range []int{0, 1, 3, 7} {
		if got[2*at] != counted[2*i] {
			t.Errorf("row %d has another id without the rows that are not counted", at+1)
		}
	}
}

// TestRowsOfOneKey: different rows whose digests begin with the same bits share a count and have
// different ids.
func TestRowsOfOneKey(t *testing.T) {
	e := equalRows{most: 1, count: map[uint64]uint64{}}
	a, b := [sha256.Size]byte{1}, [sha256.Size]byte{1, 31: 1}
	if n := []uint64{e.number(a, 1), e.number(b, 2), e.number(a, 3)}; !slices.Equal(n, []uint64{0, 1, 2}) {
		t.Errorf("numbers %d", n)
	}
}
