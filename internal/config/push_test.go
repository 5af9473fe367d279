package config

import (
	"fmt"
	"slices"
	"testing"
)

// TestPushRing: each datacentre writes into the next two of the ring, or into all others if these
// are fewer, and each is the target of as many.
func TestPushRing(t *testing.T) {
	ring := []DC{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	for n, want := range map[int]string{
		0: "a:[] from []",
		1: "a:[] from []",
		2: "a:[b] from [b] b:[a] from [a]",
		3: "a:[b c] from [b c] b:[c a] from [a c] c:[a b] from [a b]",
		4: "a:[b c] from [c d] b:[c d] from [a d] c:[d a] from [a b] d:[a b] from [b c]",
	} {
		got := ""
		for _, own := range ring[:max(1, n)] {
			c := &Config{DC: own.Name, DCs: slices.Clone(ring[:n])}
			var targets []string
			for _, d := range c.PushTargets() {
				targets = append(targets, d.Name)
			}
			got += fmt.Sprintf(" %s:%v from %v", own.Name, targets, c.PushWriters())
		}
		if got[1:] != want {
			t.Errorf("%d datacentres: %s, want %s", n, got[1:], want)
		}
	}
}
