package idset

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSetsAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := []*Set{nil, {}, {}, {}}
		maps := []map[uint64]uint64{nil, {}, {}, {}} // tags by hash
		// Few values, whose parts and slots collide.
		id := rapid.Custom(func(t *rapid.T) uint64 {
			hash := rapid.Uint64Range(0, 40).Draw(t, "low")<<tagBits | rapid.Uint64Range(0, 2).Draw(t, "high")<<58 |
				rapid.Uint64Range(0, 3).Draw(t, "mid")<<30
			return ID(hash, rapid.Uint64Range(0, 3).Draw(t, "value"))
		})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.IntRange(0, 5).Draw(t, "reset") == 0 {
				n := rapid.IntRange(1, 3).Draw(t, "set")
				sets[n].Reset()
				maps[n] = map[uint64]uint64{}
			}
			ids := rapid.SliceOfN(id, 0, 200).Draw(t, "ids")
			into, of, found := make([]*Set, len(ids)), make([]int, len(ids)), make([]Found, len(ids))
			for i := range ids {
				of[i] = rapid.IntRange(0, 3).Draw(t, "into")
				into[i] = sets[of[i]]
			}
			Insert(into, ids, found)
			for i, x := range ids {
				m, want := maps[of[i]], New
				if tag, ok := m[x&^tagMask]; ok && tag == x&tagMask {
					want = Known
				} else if ok {
					want = Differs
				} else if m != nil {
					m[x&^tagMask] = x & tagMask
				}
				if found[i] != want {
					t.Fatalf("id %d (%#x): found %v, want %v", i, x, found[i], want)
				}
			}
			x := id.Draw(t, "lookup")
			for n, s := range sets[1:] {
				m := maps[n+1]
				if s.Len() != len(m) {
					t.Fatalf("%d ids, want %d", s.Len(), len(m))
				}
				for hash, tag := range m {
					if !s.Has(hash | tag) {
						t.Fatalf("%#x is missing", hash)
					}
				}
				if _, want := m[x&^tagMask]; s.Has(x) != want {
					t.Fatalf("Has(%#x) = %v", x, !want)
				}
			}
		}
	})
}

// TestID: an id keeps 60 bits of the hash, is never 0, and equal values have equal tags.
func TestID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash, value := rapid.Uint64().Draw(t, "hash"), rapid.Uint64().Draw(t, "value")
		id := ID(hash, value)
		if id == 0 || hash>>tagBits != 0 && !Same(id, hash) || id != ID(hash, value) {
			t.Fatalf("ID(%#x, %#x) = %#x", hash, value, id)
		}
	})
	differ := 0
	for price := range uint64(1600) {
		if ID(1<<40, price) != ID(1<<40, price+1) {
			differ++
		}
	}
	if differ < 1400 {
		t.Errorf("of 1600 neighbouring prices %d differ in their tags, want about 1500", differ)
	}
}

// TestBytesPerID checks the memory per id that doc.go states.
func TestBytesPerID(t *testing.T) {
	var s Set
	x := uint64(1)
	for n := 1; n <= 300_000; n++ {
		x = x*6364136223846793005 + 1442695040888963407
		s.Insert(ID(x^x>>31, 0))
		if per := float64(s.Bytes()) / float64(n); n > 20_000 && (per < 10.5 || per > 22.5) {
			t.Fatalf("%d ids take %.1f bytes each", n, per)
		}
	}
	s.Reset()
	if s.Bytes() < 8*300_000 {
		t.Fatalf("a set that was emptied has %d bytes for the next 300,000 ids", s.Bytes())
	}
	s.Reset()
	if s.Bytes() > parts*minSlots*8 {
		t.Fatalf("an empty set keeps %d bytes", s.Bytes())
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{100_000, 1_500_000} {
		b.Run(map[int]string{100_000: "100k", 1_500_000: "1500k"}[n], func(b *testing.B) {
			var s Set
			ids, found, sets := make([]uint64, 512), make([]Found, 512), make([]*Set, 512)
			for i := range sets {
				sets[i] = &s
			}
			x := uint64(1)
			for b.Loop() {
				for i := range ids {
					x = x*6364136223846793005 + 1442695040888963407
					ids[i] = (x ^ x>>31) * 0x9e3779b97f4a7c15
				}
				Insert(sets, ids, found)
				if s.Len() >= n/2 {
					s.Reset()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/id")
		})
	}
}
