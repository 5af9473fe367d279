package packed

import (
	"errors"
	"math"
	"testing"
)

// FuzzReader holds that what is written is read, and that wrong bytes cause an error and nothing
// else.
func FuzzReader(f *testing.F) {
	f.Add(int64(0), "", []byte{})
	f.Add(int64(math.MinInt64), "a resource", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add(int64(math.MaxInt64), "\x00", []byte{2, 'a'})
	f.Fuzz(func(t *testing.T, n int64, s string, junk []byte) {
		b := AppendString(AppendInt(AppendString(nil, s), n), s)
		r := NewReader(b)
		if got := r.String(); got != s {
			t.Fatalf("%q, want %q", got, s)
		}
		if got := r.Int(); got != n {
			t.Fatalf("%d, want %d", got, n)
		}
		if r.Len() == 0 || r.String() != s || r.End() != nil {
			t.Fatalf("the last string or the end is wrong: %v", r.End())
		}
		r = NewReader(b)
		if r.Int(); !errors.Is(r.End(), ErrCorrupt) {
			t.Fatal("what is left unread is no error")
		}
		r = NewReader(junk)
		for range 3 {
			_, _ = r.Int(), r.String()
		}
		_ = r.End()
	})
}
