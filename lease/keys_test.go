package lease

import (
	"errors"
	"strings"
	"testing"
)

// No two names make one partition, and what was put in comes out.
func FuzzKeys(f *testing.F) {
	f.Add("c", "p", "k")
	f.Add("a#b", "%23", "%")
	f.Add("", "#", "%2523")
	f.Fuzz(func(t *testing.T, client, pool, key string) {
		if c, p, k, ok := ParseKeyPartition(KeyPartition(client, pool, key)); !ok || c != client || p != pool || k != key {
			t.Errorf("%q %q %q come out as %q %q %q, %v", client, pool, key, c, p, k, ok)
		}
		if c, ok := ParseResourcePartition(ResourceRow(client, key).Partition); !ok || c != client {
			t.Errorf("%q comes out of a partition of resources as %q, %v", client, c, ok)
		}
		if c, p, ok := ParsePoolRow(PoolRow(client, pool)); !ok || c != client || p != pool {
			t.Errorf("%q %q come out of a pool's row as %q %q, %v", client, pool, c, p, ok)
		}
		if c, p, ok := ParseDemandPartition(DemandRow(client, pool, "r").Partition); !ok || c != client || p != pool {
			t.Errorf("%q %q come out of a row of demand as %q %q, %v", client, pool, c, p, ok)
		}
		if p, k, ok := ParseHolder(Holder(pool, key)); !ok || p != pool || k != key {
			t.Errorf("%q %q come out as %q %q, %v", pool, key, p, k, ok)
		}
		if CheckLease(client, pool, key) == nil && len(KeyPartition(client, pool, key)) > maxPartition {
			t.Errorf("a partition key of %d bytes is let through", len(KeyPartition(client, pool, key)))
		}
	})
}

func TestCheckLease(t *testing.T) {
	for _, c := range []struct{ client, pool, key, want string }{
		{"c", "p", "k", ""},
		{"", "p", "k", "client is empty"},
		{"c", strings.Repeat("p", 129), "k", "129 bytes, 128 are allowed"},
		{"c", "p", strings.Repeat("k", 1025), "1025 bytes"},
		{"c", "p", strings.Repeat("#", 700), "together"},
		{"c", "p", "a\x00b", "control"},
		{"c", "p", "\xff", "UTF-8"},
	} {
		err := CheckLease(c.client, c.pool, c.key)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.10q %.10q %.10q: %v, want %q", c.client, c.pool, c.key, err, c.want)
		}
	}
}

// Names that are created have only visible characters, and the joiners of scripts and emoji.
func TestCheckVisible(t *testing.T) {
	for name, visible := range map[string]bool{
		"plain": true, "a b": true, "été": true, "数": true, "e\u0301": true, "می\u200cخواهم": true, "👩\u200d🚀": true,
		"a\u200bb": false, "a\u202eb": false, "a\u2028b": false, "a\u2029b": false, "a\u0085b": false, "a\u00adb": false, "\ufeffa": false, "a\u2060": false,
	} {
		if err := CheckVisible("resource", name); (err == nil) != visible || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want visible %v", name, err, visible)
		}
	}
}

func TestPartitionsThatAreNot(t *testing.T) {
	for _, p := range []string{"", "R", "R#c", "R#c#", "R#c#256", "R#c#-1", "R#c#+1", "R#c#01", "R#c#1#2", "K#c#1", "r#c#1"} {
		if c, ok := ParseResourcePartition(p); ok {
			t.Errorf("%q is taken for a partition of resources, of %q", p, c)
		}
	}
	for _, p := range []string{"", "D", "D#c", "D#c#p#k", "H#c#p"} {
		if c, pool, ok := ParseDemandPartition(p); ok {
			t.Errorf("%q is taken for a partition of demand, of %q %q", p, c, pool)
		}
	}
	for _, p := range []PrimaryKey{{"C", "c"}, {"C#c", "c"}, {"C#c#d", "pool#p"}, {"I#c", "pool#p"}} {
		if c, pool, ok := ParsePoolRow(p); ok {
			t.Errorf("%q is taken for settings of %q %q", p, c, pool)
		}
	}
}
