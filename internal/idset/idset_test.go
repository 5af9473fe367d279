package idset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSetAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		current, previous := map[uint64]bool{}, map[uint64]bool{}
		// Few values, whose parts and slots collide.
		id := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 40).Draw(t, "low") | rapid.Uint64Range(0, 2).Draw(t, "high")<<58 |
				rapid.Uint64Range(0, 3).Draw(t, "mid")<<30
		})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				s.Rotate()
				current, previous = map[uint64]bool{}, current
			case 1:
				x, prev := id.Draw(t, "restored"), rapid.Bool().Draw(t, "previous")
				m := current
				if prev {
					m = previous
				}
				if got := s.Restore(x, prev); got == m[x] {
					t.Fatalf("Restore(%#x, %v) = %v", x, prev, got)
				}
				m[x] = true
			default:
				ids := rapid.SliceOfN(id, 0, 200).Draw(t, "ids")
				seen := make([]bool, len(ids))
				var want []uint64
				fresh := s.Insert(ids, seen, nil)
				for i, x := range ids {
					if seen[i] != (current[x] || previous[x]) {
						t.Fatalf("id %d (%#x): seen %v", i, x, seen[i])
					}
					if !current[x] {
						want = append(want, x)
					}
					current[x] = true
				}
				if !slices.Equal(fresh, want) {
					t.Fatalf("fresh %x, want %x", fresh, want)
				}
			}
			if c, p := s.Len(); c != len(current) || p != len(previous) {
				t.Fatalf("%d and %d ids, want %d and %d", c, p, len(current), len(previous))
			}
			x := id.Draw(t, "lookup")
			if got := s.Has(x, false); got != (current[x] || previous[x]) {
				t.Fatalf("Has(%#x) = %v", x, got)
			}
			if got := s.Has(x, true); got != current[x] {
				t.Fatalf("Has(%#x) after a rotation = %v", x, got)
			}
		}
	})
}

// TestBytesPerID checks the memory per id that doc.go states.
func TestBytesPerID(t *testing.T) {
	var s Set
	x, seen := uint64(1), []bool{false}
	for n := 1; n <= 300_000; n++ {
		x = x*6364136223846793005 + 1442695040888963407
		s.Insert([]uint64{x ^ x>>31}, seen, nil)
		if per := float64(s.Bytes()) / float64(n); n > 20_000 && (per < 10.5 || per > 22.5) {
			t.Fatalf("%d ids take %.1f bytes each", n, per)
		}
	}
	s.Rotate()
	s.Rotate()
	s.Rotate()
	if s.Bytes() > 2*64*minSlots*8 {
		t.Fatalf("an empty set keeps %d bytes", s.Bytes())
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{100_000, 1_500_000} {
		b.Run(map[int]string{100_000: "100k", 1_500_000: "1500k"}[n], func(b *testing.B) {
			var s Set
			ids, seen := make([]uint64, 512), make([]bool, 512)
			fresh := make([]uint64, 0, 512)
			x, in := uint64(1), 0
			for b.Loop() {
				for i := range ids {
					x = x*6364136223846793005 + 1442695040888963407
					ids[i] = (x ^ x>>31) * 0x9e3779b97f4a7c15
				}
				s.Insert(ids, seen, fresh[:0])
				if in += len(ids); in >= n/2 {
					s.Rotate()
					in = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/id")
		})
	}
}
