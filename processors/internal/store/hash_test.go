package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/stream"
)

// TestHashTables: the hashes depend on the logged rows alone. They are equal whatever history led
// to the rows, differ for any difference in logged rows, and ignore other rows.
func TestHashTables(t *testing.T) {
	type entry struct {
		p     int32
		table byte
		key   string
	}
	base := map[entry]string{}
	for i := range 300 {
		base[entry{int32(i % 2), []byte{1, 2, stream.TimerTable}[i%3], fmt.Sprint("k", i)}] = fmt.Sprint("v", i)
	}
	hash := func(seed uint64, content map[entry]string) map[byte]Sum {
		s := memStore(t, vfs.NewMem())
		defer func() { _ = s.Close() }()
		rng := rand.New(rand.NewPCG(seed, 1))
		list := make([]entry, 0, len(content))
		for e := range content {
			list = append(list, e)
		}
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, e := range list {
			if rng.IntN(3) == 0 { // a row that is deleted again
				if err := s.DB.Set(Key(e.p, e.table, []byte(e.key+"x")), []byte("gone"), pebble.NoSync); err != nil {
					t.Fatal(err)
				}
				if err := s.DB.Delete(Key(e.p, e.table, []byte(e.key+"x")), pebble.NoSync); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.DB.Set(Key(e.p, e.table, []byte(e.key)), []byte(content[e]), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		got, err := HashTables(s.DB, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := hash(1, base)
	if len(want) != 3 || want[1].Keys != 50 || want[1].Bytes == 0 {
		t.Fatalf("sums of three tables: %v", want)
	}
	first := entry{1, 1, "k3"}
	for name, c := range map[string]struct {
		change func(map[entry]string)
		equal  bool
	}{
		"same":                     {func(map[entry]string) {}, true},
		"other partition":          {func(m map[entry]string) { m[entry{0, 1, "new"}] = "v" }, true},
		"meta":                     {func(m map[entry]string) { m[entry{1, 0, "task"}] = "v" }, true},
		"local table":              {func(m map[entry]string) { m[entry{1, stream.FirstLocalTable, "k"}] = "v" }, true},
		"value":                    {func(m map[entry]string) { m[first] = "w3" }, false},
		"key less":                 {func(m map[entry]string) { delete(m, first) }, false},
		"key more":                 {func(m map[entry]string) { m[entry{1, 9, ""}] = "" }, false},
		"byte moves key to value":  {func(m map[entry]string) { delete(m, first); m[entry{1, 1, "k"}] = "3v3" }, false},
		"key moves to other table": {func(m map[entry]string) { delete(m, first); m[entry{1, 2, "k3"}] = "v3" }, false},
	} {
		content := maps.Clone(base)
		c.change(content)
		if equal := maps.Equal(want, hash(2, content)); equal != c.equal {
			t.Errorf("%s: equal is %t", name, equal)
		}
	}
}
