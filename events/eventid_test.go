package events

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestHashGolden holds hashes that may not change: spend.audit compares sums of them between
// datacentres and releases.
func TestHashGolden(t *testing.T) {
	for in, want := range map[[2]string]uint64{
		{"", ""}:                                0xfbe7078d87042f26,
		{"a1", "e1"}:                            0x870de265d80597c7,
		{"ab", "c"}:                             0x17490734522d6de2,
		{"a", "bc"}:                             0xba442b10e2dd9690,
		{"ipinyou", "0"}:                        0xcf92f9edf13f0e50,
		{"acct-000123", "0193f2a4c8e17b3d5f60"}: 0x9e513f585e3e1d36,
	} {
		if got := EventHash([]byte(in[0]), []byte(in[1])); got != want {
			t.Errorf("Hash(%q, %q) = %#x, want %#x", in[0], in[1], got, want)
		}
	}
}

func TestHashKeepsTheBoundary(t *testing.T) {
	for _, pair := range [][4]string{
		{"ab", "c", "a", "bc"}, {"ab", "c", "c", "ab"}, {"", "abc", "abc", ""}, {"a", "a", "b", "b"}, {"a", "b", "b", "a"}, {"a", "", "", "a"},
	} {
		if EventHash([]byte(pair[0]), []byte(pair[1])) == EventHash([]byte(pair[2]), []byte(pair[3])) {
			t.Errorf("(%q, %q) and (%q, %q) have the same hash", pair[0], pair[1], pair[2], pair[3])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.Byte(), 2, 40).Draw(t, "both")
		i := rapid.IntRange(0, len(s)).Draw(t, "first boundary")
		j := rapid.IntRange(0, len(s)).Draw(t, "second boundary")
		if (EventHash(s[:i], s[i:]) == EventHash(s[:j], s[j:])) != (i == j) {
			t.Fatalf("%x split at %d and at %d has the same hash", s, i, j)
		}
	})
}

// TestHashDistribution hashes a million ids in ten thousand accounts. No two collide (expected:
// 2.7e-8 collisions). Any 20 bits of the hash, low, middle or high, fill an open-addressing table
// as evenly as random numbers do: with as many ids as slots, 1 - 1/e of the slots are hit.
func TestHashDistribution(t *testing.T) {
	const slots = 1 << 20
	seen := make(map[uint64]struct{}, slots)
	var low, high, middle [slots / 64]uint64
	for i := range slots {
		h := EventHash(fmt.Appendf(nil, "acct-%06d", i%10_000), fmt.Appendf(nil, "%d", i/10_000))
		if _, dup := seen[h]; dup {
			t.Fatalf("the hash of id %d collides with an earlier one", i)
		}
		seen[h] = struct{}{}
		for table, bit := range map[*[slots / 64]uint64]uint64{&low: h % slots, &high: h >> 44, &middle: h >> 20 % slots} {
			table[bit/64] |= 1 << (bit % 64)
		}
	}
	for name, table := range map[string]*[slots / 64]uint64{"low": &low, "high": &high, "middle": &middle} {
		hit := 0
		for _, w := range table {
			hit += bits.OnesCount64(w)
		}
		// The expected number is 662,842; the standard deviation is about 500.
		if hit < 662_842-2500 || hit > 662_842+2500 {
			t.Errorf("%s bits hit %d of %d slots", name, hit, slots)
		}
	}
}

func TestHashAllocatesNothing(t *testing.T) {
	a, e := []byte("acct-000123"), []byte("0193f2a4c8e17b3d5f60")
	if n := testing.AllocsPerRun(100, func() { EventHash(a, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHash(b *testing.B) {
	a, e := []byte("acct-000123"), []byte("0193f2a4c8e17b3d5f60")
	b.ReportAllocs()
	for b.Loop() {
		EventHash(a, e)
	}
}
