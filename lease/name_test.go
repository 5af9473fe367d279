package lease

import "testing"

// FuzzJoined: different lists of names are never the same one.
func FuzzJoined(f *testing.F) {
	f.Add("a", "b", "a#b", "")
	f.Add("a#", "b", "a", "#b")
	f.Add("a%23", "b", "a#", "b")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if (a != c || b != d) && JoinNames(a, b) == JoinNames(c, d) {
			t.Fatalf("%q and %q, %q and %q are all %q", a, b, c, d, JoinNames(a, b))
		}
		if JoinNames(a, b) == JoinNames(a) {
			t.Fatalf("%q alone is %q", a, JoinNames(a))
		}
	})
}
