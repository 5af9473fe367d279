package store

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// testOptions returns the options of a store on fs, without ballast.
func testOptions(fs vfs.FS) *Options {
	log := zerolog.Nop()
	return &Options{FS: fs, Dir: "/state", Instance: "test", Log: &log, CacheBytes: 64 << 20, MemtableBytes: 96 << 20}
}

func memStore(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(testOptions(fs), "bulk")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tableOf returns the rows of a partition in table 1.
func tableOf(t testing.TB, s *Store, p int32) map[string]string {
	t.Helper()
	got := map[string]string{}
	if err := Scan(s.DB, Key(p, 1, nil), func(k, v []byte) error {
		got[string(k)] = string(v)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBulkLoaderKeepsLastChange: for random changes and any number of tables, the last change of
// each key counts, and other partitions do not change.
func TestBulkLoaderKeepsLastChange(t *testing.T) {
	s := memStore(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	rapid.Check(t, func(rt *rapid.T) {
		p := int32(rapid.IntRange(0, 3).Draw(rt, "partition"))
		if err := s.ClearPartition(p); err != nil {
			rt.Fatal(err)
		}
		others := tableOf(t, s, p^1)
		b, want := NewBulkLoader(s, p), map[string]string{}
		b.limit = rapid.IntRange(1, 4000).Draw(rt, "limit")
		for range rapid.IntRange(0, 200).Draw(rt, "changes") {
			k := rapid.StringMatching(`[a-c\x00\xff]{0,12}`).Draw(rt, "key")
			if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
				delete(want, k)
				if err := b.Put([]byte("\x01"+k), nil); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			v := rapid.StringN(0, 20, 20).Draw(rt, "value")
			want[k] = v
			if err := b.Put([]byte("\x01"+k), []byte(v)); err != nil {
				rt.Fatal(err)
			}
		}
		if err := b.Finish(); err != nil {
			rt.Fatal(err)
		}
		if got := tableOf(t, s, p); !maps.Equal(got, want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
		if !maps.Equal(tableOf(t, s, p^1), others) {
			rt.Fatal("another partition changed")
		}
	})
}

// TestBulkLoaderInterrupted: tables of an interrupted rebuild count as nothing, and leftover files
// are removed.
func TestBulkLoaderInterrupted(t *testing.T) {
	fs := vfs.NewMem()
	s := memStore(t, fs)
	b := NewBulkLoader(s, 0)
	b.limit = 100
	for i := range 50 {
		if err := b.Put(fmt.Appendf(nil, "\x01key%02d", i), bytes.Repeat([]byte("v"), 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(tableOf(t, s, 0)) == 0 {
		t.Fatal("no table was written before the end")
	}
	left := path.Join(s.dir, bulkPrefix+"0-99.sst")
	f, err := fs.Create(left, vfs.WriteCategoryUnspecified)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = memStore(t, fs)
	defer func() { _ = s.Close() }()
	names, err := fs.List(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, bulkPrefix) {
			t.Errorf("%s was not removed", n)
		}
	}
	if m, err := s.Meta(s.DB, 0); err != nil || m.Marker != nil {
		t.Errorf("meta of an interrupted rebuild: %v, %v", m, err)
	}
	if err := s.ClearPartition(0); err != nil || len(tableOf(t, s, 0)) != 0 {
		t.Errorf("%d keys after clear, %v", len(tableOf(t, s, 0)), err)
	}
}
