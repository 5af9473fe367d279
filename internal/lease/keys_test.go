package lease

import (
	"strings"
	"testing"
)

// No two names make one partition, and what was put in comes out.
func FuzzKeys(f *testing.F) {
	f.Add("c", "p", "k")
	f.Add("a#b", "%23", "%")
	f.Add("", "#", "%2523")
	f.Fuzz(func(t *testing.T, client, pool, key string) {
		if c, p, k, ok := KeyOf(KeyRows(client, pool, key)); !ok || c != client || p != pool || k != key {
			t.Errorf("%q %q %q come out as %q %q %q, %v", client, pool, key, c, p, k, ok)
		}
		if p, k, ok := HolderOf(Holder(pool, key)); !ok || p != pool || k != key {
			t.Errorf("%q %q come out as %q %q, %v", pool, key, p, k, ok)
		}
		if CheckLease(client, pool, key) == nil && len(KeyRows(client, pool, key)) > maxPartition {
			t.Errorf("a partition key of %d bytes is let through", len(KeyRows(client, pool, key)))
		}
	})
}

func TestCheckLease(t *testing.T) {
	for _, c := range []struct{ client, pool, key, says string }{
		{"c", "p", "k", ""},
		{"", "p", "k", "client is empty"},
		{"c", strings.Repeat("p", 129), "k", "129 bytes, 128 are allowed"},
		{"c", "p", strings.Repeat("k", 1025), "1025 bytes"},
		{"c", "p", strings.Repeat("#", 700), "together"},
		{"c", "p", "a\x00b", "control"},
		{"c", "p", "\xff", "UTF-8"},
	} {
		err := CheckLease(c.client, c.pool, c.key)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.10q %.10q %.10q: %v, want %q", c.client, c.pool, c.key, err, c.says)
		}
	}
}
