package dense

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTableAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab Table
		want := map[uint64][]uint32{}
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 70).Draw(t, "low") | rapid.Uint64Range(0, 2).Draw(t, "high")<<32
		})
		n := uint32(0)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			h := hash.Draw(t, "hash")
			if rapid.IntRange(0, 99).Draw(t, "reset") == 0 {
				tab.Reset(rapid.IntRange(0, 200).Draw(t, "room"))
				clear(want)
				n = 0
			}
			if rapid.Bool().Draw(t, "insert") {
				if got := tab.Insert(h); got != n {
					t.Fatalf("Insert gave %d, want %d", got, n)
				}
				want[h] = append(want[h], n)
				n++
			}
			var got []uint32
			for i, c := tab.First(h); i != None; i, c = tab.Next(c) {
				if tab.Hash(i) == h {
					got = append(got, i)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want[h]) || tab.Len() != int(n) {
				t.Fatalf("hash %#x: candidates %v, want %v", h, got, want[h])
			}
		}
	})
}

// BenchmarkGrow measures the pause of one doubling at the number of campaigns that a task caches by
// default.
func BenchmarkGrow(b *testing.B) {
	var tab Table
	x := uint64(1)
	for range 131_072 {
		x = x*6364136223846793005 + 1442695040888963407
		tab.Insert((x ^ x>>31) * 0x9e3779b97f4a7c15)
	}
	for b.Loop() {
		tab.grow(len(tab.slots))
	}
}
