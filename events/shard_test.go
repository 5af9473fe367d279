package events

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestShardGolden holds shards that may not change: a change would move accounts between
// partitions. Never edit them to make the test pass. The first two follow from the reference values
// of xxHash64: 0xef46db3751d8e999 for "" and 0xd24ec4f1a98c6e5b for "a".
func TestShardGolden(t *testing.T) {
	for account, want := range map[string]int32{
		"":                                     9,
		"a":                                    11,
		"a1":                                   8,
		"ipinyou":                              4,
		"acct-000123":                          20,
		"größer":                               16,
		"0193f2a4-c8e1-7b3d-a5f6-0123456789ab": 7,
	} {
		if got := Shard(account, DefaultShards); got != want {
			t.Errorf("Shard(%q) = %d, want %d", account, got, want)
		}
	}
}

func TestShardFormsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "account")
		of := rapid.Int32Range(1, MaxShards).Draw(t, "shards")
		n := Shard(s, of)
		if n != ShardBytes([]byte(s), of) || n < 0 || n >= of {
			t.Fatalf("%q of %d: %d and %d", s, of, n, ShardBytes([]byte(s), of))
		}
		// With twice as many shards, the accounts of a shard are in two shards, and in no other.
		if Shard(s, 2*of)%of != n {
			t.Fatalf("%q: %d of %d, %d of twice as many", s, n, of, Shard(s, 2*of))
		}
	})
	b := []byte("an account of some length")
	if n := testing.AllocsPerRun(100, func() { ShardBytes(b, DefaultShards) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestShardDistribution computes chi-square with 23 degrees of freedom for common ways to number
// accounts. Random shards exceed 49.7 once in a thousand runs. The hash is fixed, so the result is
// the same in every run.
func TestShardDistribution(t *testing.T) {
	const n = 100_000
	for name, id := range map[string]func(i int) string{
		"plain numbers": func(i int) string { return fmt.Sprint(i) },
		"padded":        func(i int) string { return fmt.Sprintf("acct-%09d", i) },
		"steps of 24":   func(i int) string { return fmt.Sprint(24 * i) },
		"hexadecimal":   func(i int) string { return fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15) },
		"two parts":     func(i int) string { return fmt.Sprintf("%d/%d", i%317, i/317) },
	} {
		t.Run(name, func(t *testing.T) {
			var count [DefaultShards]int
			for i := range n {
				count[Shard(id(i), DefaultShards)]++
			}
			chi2, expected := 0.0, float64(n)/DefaultShards
			for _, c := range count {
				chi2 += (float64(c) - expected) * (float64(c) - expected) / expected
			}
			if chi2 > 49.7 {
				t.Errorf("chi-square %.1f over %v", chi2, count)
			}
		})
	}
}

func BenchmarkShard(b *testing.B) {
	account := []byte("acct-000123")
	b.ReportAllocs()
	for b.Loop() {
		ShardBytes(account, DefaultShards)
	}
}
