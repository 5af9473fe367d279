package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/weirhq/weir/stream"
	"pgregory.net/rapid"
)

// TestWriteBufferReadsLikeTheStore: a handler reads the same values whether its transactions are
// buffered or written at once.
func TestWriteBufferReadsLikeTheStore(t *testing.T) {
	s := memStore(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	rapid.Check(t, func(rt *rapid.T) {
		const p = 3
		if err := s.ClearPartition(p); err != nil {
			rt.Fatal(err)
		}
		var l WriteBuffer
		want := map[string]string{}
		for range rapid.IntRange(1, 20).Draw(rt, "transactions") {
			var ch stream.Changes
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				k := rapid.StringMatching(`[ab]{0,3}`).Draw(rt, "key")
				if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
					ch.Delete(1, []byte(k))
					delete(want, k)
				} else {
					v := rapid.StringN(0, 5, 5).Draw(rt, "value")
					ch.Put(1, []byte(k), []byte(v))
					want[k] = v
				}
				ch.EmitTo("out", p, stream.Message{Key: []byte("x"), Value: []byte("y")})
			}
			if l.Add(p, ch.List); rapid.IntRange(0, 3).Draw(rt, "write") == 0 {
				b := s.DB.NewBatch()
				if err := l.FlushTo(b); err != nil {
					rt.Fatal(err)
				}
				if err := b.Commit(pebble.NoSync); err != nil {
					rt.Fatal(err)
				}
				if l.Bytes != 0 || len(l.keys) != 0 {
					rt.Fatalf("%d keys of %d bytes are buffered after FlushTo", len(l.keys), l.Bytes)
				}
			}
			for _, prefix := range []string{"", "a", "ab"} {
				if got, want := scanned(rt, s, &l, p, prefix), sorted(want, prefix); got != want {
					rt.Fatalf("prefix %q: got %s, want %s", prefix, got, want)
				}
			}
			keys := rapid.SliceOf(rapid.StringMatching(`[abc]{0,3}`)).Draw(rt, "keys")
			slices.Sort(keys)
			if got, want := multi(rt, s, &l, p, keys), picked(want, keys); got != want {
				rt.Fatalf("keys %q: got %s, want %s", keys, got, want)
			}
			for _, k := range []string{"", "a", "ba"} {
				got, known := l.Get(Key(p, 1, []byte(k)))
				if !known {
					var err error
					if got, err = Get(s.DB, Key(p, 1, []byte(k))); err != nil {
						rt.Fatal(err)
					}
				}
				if v, ok := want[k]; string(got) != v || ok != (got != nil) {
					rt.Fatalf("get %q: %q, want %q, %v", k, got, v, ok)
				}
			}
		}
	})
}

// TestMultiGetNeedsOrder: keys out of order are an error, because an iterator that goes back would
// read each block again.
func TestMultiGetNeedsOrder(t *testing.T) {
	s := memStore(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	none := func(int, []byte) error { return nil }
	if err := MultiGet(s.DB, Key(3, 1, nil), [][]byte{[]byte("b"), []byte("a")}, none); err == nil {
		t.Error("keys in descending order were read")
	}
}

func multi(t *rapid.T, s *Store, l *WriteBuffer, p int32, keys []string) string {
	var list []string
	bytes := make([][]byte, len(keys))
	for i := range keys {
		bytes[i] = []byte(keys[i])
	}
	if err := l.MultiGet(s.DB, Key(p, 1, nil), bytes, func(i int, v []byte) error {
		list = append(list, fmt.Sprintf("%d %s=%s", i, keys[i], v))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}

// picked is what multi returns for a store with the rows of m.
func picked(m map[string]string, keys []string) string {
	var list []string
	for i, k := range keys {
		if v, ok := m[k]; ok {
			list = append(list, fmt.Sprintf("%d %s=%s", i, k, v))
		}
	}
	return fmt.Sprint(list)
}

func scanned(t *rapid.T, s *Store, l *WriteBuffer, p int32, prefix string) string {
	var list []string
	if err := l.Scan(s.DB, Key(p, 1, []byte(prefix)), func(k, v []byte) error {
		list = append(list, fmt.Sprintf("%s=%s", k, v))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}

func sorted(m map[string]string, prefix string) string {
	var keys, list []string
	for k := range m {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		list = append(list, fmt.Sprintf("%s=%s", k, m[k]))
	}
	return fmt.Sprint(list)
}
