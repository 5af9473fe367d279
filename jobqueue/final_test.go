package jobqueue

import (
	"math/rand/v2"
	"testing"
)

// TestFinals: the final states of a segment, of few exceptions and of many, against an array.
func TestFinals(t *testing.T) {
	for _, most := range []int{0, 1, 100, maxOthers, maxOthers + 1, segmentSize} {
		rng := rand.New(rand.NewPCG(uint64(most), 1))
		want := make([]State, segmentSize)
		for i := range want {
			want[i] = Done
		}
		for _, at := range rng.Perm(segmentSize)[:most] {
			want[at] = finalStates()[rng.IntN(3)]
		}
		var others [3][]uint16
		for at, s := range want {
			for i, other := range finalStates() {
				if s == other {
					others[i] = append(others[i], uint16(at))
				}
			}
		}
		f := newFinals(others)
		if (f.dense != nil) != (most > maxOthers) {
			t.Errorf("%d exceptions: dense is %v", most, f.dense != nil)
		}
		again := newFinals(f.list())
		for at, s := range want {
			if f.state(uint16(at)) != s || again.state(uint16(at)) != s {
				t.Fatalf("%d exceptions: position %d is %v and %v, want %v", most, at, f.state(uint16(at)), again.state(uint16(at)), s)
			}
		}
	}
}
