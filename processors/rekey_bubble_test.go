//go:build synctests

package processors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRekey moves a ledger from 3 partitions to 6, where each key has one place: the totals are equal, whatever step the move
// dies at on the way, and the new ledger counts on from there.
func TestRekey(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		fs, ctx := vfs.NewCrashableMem(), context.Background()
		from := timedLedgers()
		w.grow(fs, from, 0, 600)
		to := from
		to.App, to.Inputs, to.Changelog, to.Outputs = "wide", []string{"in6"}, "log6", []string{"out6", "out6"}
		cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer cl.Close()
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, 6, 1, nil, "in6", "log6", "out6", "wide.dlq"); err != nil {
			t.Fatal(err)
		}
		want := w.logTotals()
		timers := w.logTimers("log", 3)
		if want["k3"] != 90 || len(timers) == 0 {
			t.Fatalf("totals %v, %d timers", want, len(timers))
		}
		place := func(_ byte, key []byte) (int32, error) { return int32(crc32.ChecksumIEEE(key) % 6), nil }
		move := func(how Rekeying, step func(string) error) (Rekeyed, error) {
			return Rekey(ctx, Config{Kafka: w.kafka(), Dir: "/state", FS: fs, Log: &w.log, CacheBytes: 1 << 20, step: step}, from, to, how)
		}
		if _, err := move(Rekeying{Place: place}, nil); err == nil {
			t.Error("keys of several partitions become one, and nobody said how")
		}
		if _, err := move(Rekeying{Place: func(byte, []byte) (int32, error) { return 6, nil }}, nil); err == nil {
			t.Error("keys were placed in partition 6 of 6")
		}
		how := Rekeying{Place: place, Merge: func(table byte, _, one, other []byte) ([]byte, error) {
			if table != 1 {
				return nil, errors.New("timers have names of their own")
			}
			return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(one)+binary.BigEndian.Uint64(other)), nil
		}}
		errDied, died := errors.New("died"), 0
		var moved Rekeyed
		for at := 1; ; at++ {
			n := 0
			var err error
			if moved, err = move(how, func(string) error {
				if n++; n == at {
					return errDied
				}
				return nil
			}); err == nil {
				break
			}
			if died++; !errors.Is(err, errDied) || died > 40 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // the dead one's session
		}
		if died < 8 || moved.Keys == 0 || moved.Merged < 20 || moved.From["in"][2] != 300 {
			t.Errorf("died %d times, moved %+v", died, moved)
		}
		if now := w.logTimers("log6", 6); !maps.Equal(now, timers) {
			t.Errorf("%d timers became %d", len(timers), len(now))
		}
		rt, end := w.begin("a", Config{Workers: 2, FS: fs}, to)
		var rs []*kgo.Record
		for i := range 60 {
			key := fmt.Appendf(nil, "k%d", i%10)
			p, _ := place(1, key)
			rs = append(rs, &kgo.Record{Topic: "in6", Partition: p, Key: key, Value: []byte("1")})
			want[string(key)]++
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.until("it is folded", time.Minute, func() bool {
			var sum int64
			for _, s := range rt.Status() {
				sum += s.Next["in6"]
			}
			return sum == 60
		})
		got := map[string]int64{}
		for k := range want {
			p, _ := place(1, []byte(k))
			got[k] = w.sum(rt, p, k)
		}
		if !maps.Equal(got, want) {
			t.Errorf("the new ledger holds %v, want %v", got, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := move(how, nil); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("a move onto a ledger at work: %v", err)
		}
		if now := w.logTotals(); now["k3"] != 90 {
			t.Errorf("the source has changed: %v", now)
		}
	})
}

// logTimers are the timers that a changelog holds, whatever the partition.
func (w *world) logTimers(topic string, partitions int32) map[string]bool {
	timers := map[string]bool{}
	for _, r := range w.readN(topic, partitions) {
		if r.Key[0] != 127 {
			continue
		}
		if timers[string(r.Key)] = true; r.Value == nil {
			delete(timers, string(r.Key))
		}
	}
	return timers
}
