package state

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

var (
	_ Reader = (*stream.Context)(nil)
	_ Writer = (*stream.Context)(nil)
	_ Ranger = (*stream.Context)(nil)
	_ Reader = stream.Get(nil)
	_ Ranger = stream.Range(nil)
	_ Writer = (*stream.Changes)(nil)
)

// tableModel runs random calls on a table and on a map.
type tableModel[K cmp.Ordered] struct {
	t     *testing.T
	table *Table[K, uint64]
	key   func(rng *rand.Rand) K
	want  map[K]uint64
}

func (m *tableModel[K]) record(c *stream.Context, r *stream.Record) error {
	rng := rand.New(rand.NewPCG(binary.BigEndian.Uint64(r.Value), 1))
	for range 10 {
		switch a, b := m.key(rng), m.key(rng); rng.IntN(7) {
		case 0, 1:
			m.table.Put(c, a, uint64(len(m.want)))
			m.want[a] = uint64(len(m.want))
		case 2:
			m.table.Delete(c, a)
			delete(m.want, a)
		case 3:
			v, ok, err := m.table.Get(c, a)
			if w, has := m.want[a]; err != nil || ok != has || v != w {
				return fmt.Errorf("%v is %d, %t, %w; want %d, %t", a, v, ok, err, w, has)
			}
		case 4:
			m.scan(c, a, b, func(fn func(K, uint64) error) error { return m.table.ScanRange(c, a, b, fn) })
		case 5:
			m.scan(c, a, *new(K), func(fn func(K, uint64) error) error { return m.table.ScanFrom(c, a, fn) })
		case 6:
			m.scan(c, slices.Min(append(slices.Collect(maps.Keys(m.want)), a)), *new(K), func(fn func(K, uint64) error) error { return m.table.Scan(c, fn) })
		}
	}
	return nil
}

// scan compares a scan of the keys from from up to to with the map. A zero to is the end.
func (m *tableModel[K]) scan(_ *stream.Context, from, to K, scan func(func(K, uint64) error) error) {
	m.t.Helper()
	var want, got []string
	for _, k := range slices.Sorted(maps.Keys(m.want)) {
		if k >= from && (to == *new(K) || k < to) {
			want = append(want, fmt.Sprint(k, m.want[k]))
		}
	}
	if err := scan(func(k K, v uint64) error { got = append(got, fmt.Sprint(k, v)); return nil }); err != nil || !slices.Equal(got, want) {
		m.t.Fatalf("from %v to %v: %v, %v; want %v", from, to, got, err, want)
	}
	if len(want) > 1 {
		n := 0
		if err := scan(func(K, uint64) error { n++; return stream.ErrStopScan }); err != nil || n != 1 {
			m.t.Fatalf("a scan that was to stop: %d rows, %v", n, err)
		}
		if err := scan(func(K, uint64) error { return errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
			m.t.Fatalf("a scan that failed: %v", err)
		}
	}
}

func runTable[K cmp.Ordered](t *testing.T, keys Codec[K], key func(rng *rand.Rand) K) {
	t.Helper()
	for seed := range uint64(30) {
		m := &tableModel[K]{t: t, table: NewTable(7, keys, Uint64{}), key: key, want: map[K]uint64{}}
		r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{New: stream.EachRecord(m.record)}})
		for i := range uint64(60) {
			if r.Append(binary.BigEndian.AppendUint64(nil, seed<<32+i)); r.Remaining() > 5 {
				r.Fold(5)
				r.Commit(1)
			}
		}
		r.Fold(60)
		r.Commit(1)
		got := map[K]uint64{}
		task := stream.Range(func(table byte, _, _ []byte, fn func(k, v []byte) error) error {
			for k, v := range r.Table(table) {
				if err := fn([]byte(k), v); err != nil {
					return err
				}
			}
			return nil
		})
		if err := m.table.Scan(task, func(k K, v uint64) error { got[k] = v; return nil }); err != nil || !maps.Equal(got, m.want) {
			t.Fatalf("committed: %v, %v; want %v", got, err, m.want)
		}
	}
}

// TestTableAgainstMap compares a table in a record function's context with a sorted map, for keys
// of each ordered codec.
func TestTableAgainstMap(t *testing.T) {
	runTable(t, String{}, func(rng *rand.Rand) string { return strings.Repeat("ab", rng.IntN(3)) + string(rune('b'+rng.IntN(4))) })
	runTable(t, Uint64{}, func(rng *rand.Rand) uint64 { return 1 + rng.Uint64N(20)*50 })
	runTable(t, Int64{}, func(rng *rand.Rand) int64 { return rng.Int64N(20)*50 - 501 })
	runTable(t, Float64{}, func(rng *rand.Rand) float64 { return float64(rng.IntN(20))/2 - 5.25 })
}

func TestScanPrefix(t *testing.T) {
	table := NewTable(2, String{}, String{})
	rows := map[string]string{"a": "1", "ab": "2", "ab\xff": "3", "ac": "4", "b": "5", "\xff": "6", "\xff\xff": "7"}
	all := stream.Range(func(_ byte, from, to []byte, fn func(k, v []byte) error) error {
		for _, k := range slices.Sorted(maps.Keys(rows)) {
			if k >= string(from) && (to == nil || k < string(to)) {
				if err := fn([]byte(k), []byte(rows[k])); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for prefix, want := range map[string]string{"": "1234567", "a": "1234", "ab": "23", "b": "5", "c": "", "\xff": "67", "\xff\xff": "7"} {
		got := ""
		if err := table.ScanPrefix(all, prefix, func(_, v string) error { got += v; return nil }); err != nil || got != want {
			t.Errorf("prefix %q: %s, %v; want %s", prefix, got, err, want)
		}
	}
}

// TestTableErrors holds that errors name the table and the key, and that a value which cannot be
// encoded fails the transaction.
func TestTableErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	get := stream.Get(func(_ byte, key []byte) ([]byte, error) {
		if string(key) == "unreadable" {
			return nil, broken
		}
		return []byte("junk"), nil
	})
	numbers := NewTable(9, String{}, Uint64{})
	if v, ok, err := numbers.Get(get, "unreadable"); !errors.Is(err, broken) || ok || v != 0 || !strings.Contains(err.Error(), `table 9: read key "unreadable"`) {
		t.Errorf("%d, %t, %v", v, ok, err)
	}
	if v, ok, err := numbers.Get(get, "k"); err == nil || ok || v != 0 || err.Error() != `table 9: decode key "k": the value has 4 bytes, 8 are expected: another codec wrote it` {
		t.Errorf("%d, %t, %v", v, ok, err)
	}
	floats := NewTable(8, Uint64{}, JSON[float64]{})
	var ch stream.Changes
	floats.Put(&ch, 17, math.NaN())
	if err := ch.Err(); err == nil || !strings.HasPrefix(err.Error(), "table 8: encode key 17: json:") || len(ch.List) != 0 {
		t.Errorf("%v, %d changes", err, len(ch.List))
	}
	keys := NewTable(8, JSON[float64]{}, String{})
	ch.Reset()
	if keys.Delete(&ch, math.NaN()); ch.Err() == nil {
		t.Error("a key that cannot be encoded is deleted")
	}
	if _, _, err := keys.Get(get, math.NaN()); err == nil {
		t.Error("a key that cannot be encoded is read")
	}
	junk := stream.Range(func(_ byte, _, _ []byte, fn func(k, v []byte) error) error { return fn([]byte("key"), []byte("value")) })
	if err := numbers.Scan(junk, func(string, uint64) error { return nil }); err == nil || !strings.Contains(err.Error(), `table 9: decode key "key"`) {
		t.Errorf("a scan of junk: %v", err)
	}
	if err := floats.Scan(junk, func(uint64, float64) error { return nil }); err == nil || !strings.Contains(err.Error(), `table 8: decode key "key"`) {
		t.Errorf("a scan of junk keys: %v", err)
	}
}

// TestPutFailsTheTransaction holds that an error of Put fails the Fold.
func TestPutFailsTheTransaction(t *testing.T) {
	floats := NewTable(8, String{}, JSON[float64]{})
	h, err := stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
		floats.Put(c, "k", math.Inf(1))
		return nil
	})(stream.Task{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Fold(&stream.Batch{Records: []stream.Record{{Offset: 5}}}); err == nil || !strings.Contains(err.Error(), `record at offset 5: table 8: encode key "k"`) {
		t.Errorf("fold: %v", err)
	}
}
