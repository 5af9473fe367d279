package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeyList compares a list of thousands of keys with a sorted slice.
func TestKeyList(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var l keyList
		var want []string
		for i := range 4000 {
			key := fmt.Sprint(rng.IntN(100_000))
			if seed == 1 {
				key = fmt.Sprintf("%06d", i) // in order
			}
			at, there := slices.BinarySearch(want, key)
			if !there {
				want = slices.Insert(want, at, key)
				l.insert(key)
			}
			from := fmt.Sprint(rng.IntN(110_000))
			next, _ := slices.BinarySearch(want, from)
			if got, ok := l.from(from); ok != (next < len(want)) || ok && got != want[next] {
				t.Fatalf("seed %d: the first key from %s is %s, %t", seed, from, got, ok)
			}
		}
		var got []string
		for k, ok := l.from(""); ok; k, ok = l.from(k + "\x00") {
			got = append(got, k)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d keys, want %d", seed, len(got), len(want))
		}
	}
	var empty keyList
	if k, ok := empty.from("a"); ok {
		t.Errorf("an empty list has %s", k)
	}
}
