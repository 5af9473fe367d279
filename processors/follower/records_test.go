package follower

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
)

// standalone returns a follower with an open store, and a partition of it without brokers.
func standalone(t testing.TB, watched bool) (*Follower, *partition) {
	t.Helper()
	cfg := Config{Kafka: kafka.Cluster{Brokers: []string{"none:1"}}, Dir: "/d", Name: "f", Topics: []Topic{{Name: "log", Changelog: true}}, FS: vfs.NewMem(), CacheBytes: 1 << 20, MemtableBytes: 3 << 20}
	if watched {
		cfg.OnChange = func(Change) error { return nil }
	}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(f.cfg.database(), "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.open(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	p := &partition{topic: f.cfg.Topics[0], slot: 0, active: true, position: position{Topic: "log", Epoch: -1}}
	f.parts[id{"log", 0}] = p
	return f, p
}

// hostile decodes records from fuzzed bytes: each is a gap of the offsets, a length of the key, a
// length of the value, and their bytes. A length of 255 stands for nil.
func hostile(b []byte) (recs []*kgo.Record) {
	take := func(n int) []byte {
		n = min(n, len(b))
		out := b[:n:n]
		b = b[n:]
		return out
	}
	for len(b) >= 3 {
		gap, k, v := int64(b[0]%4), int(b[1]), int(b[2])
		b = b[3:]
		r := &kgo.Record{Topic: "log", Offset: gap, LeaderEpoch: int32(k)}
		if len(recs) > 0 {
			r.Offset += recs[len(recs)-1].Offset + 1
		}
		if k != 255 {
			r.Key = take(k)
		}
		if v != 255 {
			r.Value = take(v)
		}
		recs = append(recs, r)
	}
	return recs
}

// FuzzRecords: records of any kind, read by a load up to any offset, by the load while its rows are
// being written, and as changes after that, give the rows of a fold in a map. The load and the
// changes treat each record alike.
func FuzzRecords(f *testing.F) {
	fw, _ := standalone(f, true) // one store for all inputs: each forgets its rows
	f.Add([]byte("\x00\x02\x01\x01kv\x00\x02\xff\x01k\x00\x00\x00\x00\xff\x01v\x00\x02\x01\x00mx\x01\x03\x00\x02ab"), uint8(2), uint8(1), true)
	f.Add([]byte("\x00\x01\x01\x01v\x03\x01\x00\x01"), uint8(0), uint8(0), false)
	f.Fuzz(func(t *testing.T, b []byte, loaded, late uint8, changelog bool) {
		recs := hostile(b)
		if len(recs) == 0 {
			return
		}
		p := &partition{topic: Topic{Name: "log", Changelog: changelog}, slot: -1, active: true, position: position{Topic: "log", Epoch: -1}}
		fw.parts[id{"log", 0}] = p
		view, want, skipped := map[string]string{}, map[string]string{}, int64(0)
		fw.cfg.OnChange = func(c Change) error {
			if old, has := view[string(c.Key)]; has != (c.Old != nil) || old != string(c.Old) {
				t.Errorf("%x: old value %x, want %x", c.Key, c.Old, old)
			}
			if delete(view, string(c.Key)); c.New != nil {
				view[string(c.Key)] = string(c.New)
			}
			return nil
		}
		for _, r := range recs {
			switch {
			case r.Key == nil, changelog && len(r.Key) == 0:
				skipped++
			case changelog && r.Key[0] == 0:
			case r.Value == nil:
				delete(want, string(r.Key))
			default:
				want[string(r.Key)] = string(r.Value)
			}
		}
		end := min(int(loaded), len(recs)-1) + 1
		l, err := fw.newLoad(p.AsOf, 0, recs[end-1].Offset+1)
		if err != nil {
			t.Fatal(err)
		}
		p.load = l
		read := func(recs []*kgo.Record) {
			if len(recs) == 0 {
				return
			}
			a := fw.newApplier()
			if err := errors.Join(a.records(p, recs), a.commit()); err != nil {
				t.Fatal(err)
			}
		}
		behind := min(end+int(late), len(recs))
		read(recs[:end])
		read(recs[end:behind])
		if err := fw.finishWritten(true); err != nil {
			t.Fatal(err)
		}
		read(recs[behind:])
		got := map[string]string{}
		err = fw.Scan("log", 0, nil, func(r Row) error {
			got[string(r.Key)] = string(r.Value)
			if i := int(r.Offset); i < 0 || r.Offset > recs[len(recs)-1].Offset {
				t.Errorf("%x has offset %d", r.Key, r.Offset)
			}
			return nil
		})
		if err != nil || !maps.Equal(got, want) || !maps.Equal(view, want) {
			t.Errorf("rows %x, view %x, want %x, %v", got, view, want, err)
		}
		if p.Next != recs[len(recs)-1].Offset+1 || p.skipped.Load() != skipped || p.load != nil {
			t.Errorf("next %d, skipped %d, want %d", p.Next, p.skipped.Load(), skipped)
		}
		if err := fw.forget(p); err != nil || len(view) > 0 || fw.memory.collected != 0 {
			t.Errorf("after forget: view %x, %d bytes collected, %v", view, fw.memory.collected, err)
		}
	})
}

// FuzzRow: what appendRow encodes, parseRow decodes, and parseRow accepts no row without an offset.
func FuzzRow(f *testing.F) {
	f.Add([]byte("v"), int64(300))
	f.Add([]byte{0x80}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, offset int64) {
		value, at, err := parseRow(appendRow(nil, offset, b))
		if err != nil || at != offset || !bytes.Equal(value, b) || value == nil {
			t.Errorf("%x at %d became %x at %d, %v", b, offset, value, at, err)
		}
		if _, _, err := parseRow(b); len(b) == 0 && err == nil {
			t.Error("an empty row was accepted")
		}
	})
}
