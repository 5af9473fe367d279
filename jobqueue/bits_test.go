package jobqueue

import (
	"math/rand/v2"
	"testing"
)

// TestVector: a vector against a map, with words at its end that get empty.
func TestVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var v vector
	want := map[uint32]bool{}
	for i := range 20_000 {
		n := uint32(rng.IntN(600))
		want[n] = rng.IntN(i%5000+1) < 10
		if want[n] {
			v.set(n)
		} else {
			v = v.without(n)
			delete(want, n)
		}
		found := 0
		v.each(func(n uint32) {
			if found++; !want[n] || !v.has(n) {
				t.Fatalf("step %d: position %d is set", i, n)
			}
		})
		if found != len(want) {
			t.Fatalf("step %d: %d positions, want %d", i, found, len(want))
		}
		if len(v) > 0 && v[len(v)-1] == 0 || len(want) == 0 && v != nil {
			t.Fatalf("step %d: %d words, the last one is zero", i, len(v))
		}
	}
}
