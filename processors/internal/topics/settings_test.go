package topics

import "testing"

func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1", "1", true},
		{"0.5", "0.50", true},
		{"compact,delete", "delete, compact", true},
		{"", "", true},
		{"compact", "delete", false},
		{"1", "2", false},
		{"1", "", false},
		{"compact", "compact,delete", false},
	} {
		if same(c.a, c.b) != c.same {
			t.Errorf("same(%q, %q) is not %v", c.a, c.b, c.same)
		}
	}
}
