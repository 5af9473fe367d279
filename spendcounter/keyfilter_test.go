package spendcounter

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// TestKeyFilter: a filter has each key that was added, few others, and little memory.
func TestKeyFilter(t *testing.T) {
	for _, n := range []int{1, 100, 1_000, 100_000, 1_000_000} {
		f := &keyFilter{}
		for i := range n {
			f.add(xxhash.Sum64String(fmt.Sprint("key ", i)))
		}
		for i := range n {
			if !f.has(xxhash.Sum64String(fmt.Sprint("key ", i))) {
				t.Fatalf("of %d keys, key %d is missing", n, i)
			}
		}
		wrong := 0
		for i := range 100_000 {
			if f.has(xxhash.Sum64String(fmt.Sprint("other ", i))) {
				wrong++
			}
		}
		if wrong > 3_000 {
			t.Errorf("%d keys: %d of 100,000 others are reported", n, wrong)
		}
		if limit := 8*firstWords + 11*n; f.size() > limit {
			t.Errorf("%d keys take %d bytes, more than %d", n, f.size(), limit)
		}
	}
}
