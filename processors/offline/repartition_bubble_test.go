//go:build synctests

package offline

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
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// TestRepartition moves a account from 3 partitions to 6, where each key has one place: the totals are equal, whatever step the move
// dies at on the way, and though the old account goes on between two tries; and the new account counts on from there.
func TestRepartition(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs, ctx := vfs.NewCrashableMem(), context.Background()
		from := timedAccounts()
		w.grow(fs, from, 0, 600)
		to := from
		to.App, to.Inputs, to.Changelog, to.Outputs = "wide", []string{"in6"}, "log6", []stream.Output{{Name: "out", Topic: "out6"}, {Name: "fired", Topic: "out6"}}
		cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer cl.Close()
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, 6, 1, nil, "in6", "log6", "out6", "wide.dlq"); err != nil {
			t.Fatal(err)
		}
		var epoch, tries uint64
		to.Rewrite = func(table byte, key, value []byte, c stream.Commit) ([]byte, error) {
			epoch = c.OwnerEpoch
			return value, nil
		}
		if want := w.logTotals(); want["k3"] != 90 || len(w.logTimers("log", 3)) == 0 {
			t.Fatalf("totals %v, %d timers", want, len(w.logTimers("log", 3)))
		}
		at6 := func(key []byte) int32 { return int32(crc32.ChecksumIEEE(key) % 6) }
		place := func(_ byte, key, _ []byte) (int32, error) {
			if string(key) == "k9" {
				return NoPartition, nil
			}
			return at6(key), nil
		}
		move := func(how Repartitioning, step func() error) (RepartitionResult, error) {
			ctx := ctx
			if step != nil {
				ctx = stepping(ctx, step)
			}
			return Repartition(ctx, processors.Config{Kafka: w.kafka(), Dir: "/state", FS: fs, Log: &w.log, CacheBytes: 1 << 20}, from, to, how)
		}
		if _, err := move(Repartitioning{Partition: place}, nil); err == nil {
			t.Error("keys of several partitions become one, and nobody said how")
		}
		if _, err := move(Repartitioning{Partition: func(byte, []byte, []byte) (int32, error) { return 6, nil }}, nil); err == nil {
			t.Error("keys were placed in partition 6 of 6")
		}
		how := Repartitioning{Partition: place, Merge: func(table byte, _, one, other []byte) ([]byte, error) {
			if table != 1 {
				return nil, errors.New("timers have names of their own")
			}
			return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(one)+binary.BigEndian.Uint64(other)), nil
		}}
		// Each try has keys of its own, which the next one must take back.
		how.Extract = func(h stream.Handler, put Put) error {
			tries++
			return put(int32(tries%6), 2, fmt.Appendf(nil, "%T %d", h, tries), []byte("taken"))
		}
		how.Finish = func(put Put) error { return put(5, 2, fmt.Appendf(nil, "rest %d", tries), nil) }
		errDied, died := errors.New("died"), 0
		var moved RepartitionResult
		for at := 1; ; at++ {
			n := 0
			var err error
			if moved, err = move(how, func() error {
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
			if died == 9 {               // it has written something
				if len(w.logTables("log6", 6)) == 0 {
					t.Error("no try has left anything")
				}
				w.fill(3, 30)
				if _, err := move(how, nil); !errors.Is(err, ErrUnread) {
					t.Errorf("a move with records that are not read: %v", err)
				}
				w.grow(fs, from, 930, 30)
			}
		}
		want := w.logTotals()
		delete(want, "k9")
		if died < 12 || moved.Merged < 18 || moved.Keys < 13 || moved.Written == 0 || want["k3"] != 126 {
			t.Errorf("died %d times, moved %+v, totals %v", died, moved, want)
		}
		timers := w.logTimers("log", 3)
		if now := w.logTimers("log6", 6); !maps.Equal(now, timers) {
			t.Errorf("%d timers became %d", len(timers), len(now))
		}
		of := fmt.Sprintf("%T", eventOnly{})
		if got, want := w.logTables("log6", 6), map[string]string{
			fmt.Sprintf("%s %d", of, tries-2): "taken", fmt.Sprintf("%s %d", of, tries-1): "taken", fmt.Sprintf("%s %d", of, tries): "taken", fmt.Sprintf("rest %d", tries): "",
		}; !maps.Equal(got, want) {
			t.Errorf("taken and the rest: %v, want %v", got, want)
		}
		for _, r := range w.readN("log", 3) {
			m := &changelogpb.Marker{}
			if string(r.Key) != string(changelogpb.SystemKey(changelogpb.MarkerKey)) {
				continue
			}
			if err := proto.Unmarshal(r.Value, m); err != nil || m.OwnerEpoch >= epoch {
				t.Errorf("the move wrote as owner %d, the source's last was %d, %v", epoch, m.OwnerEpoch, err)
			}
		}
		how.Extract, how.Finish = nil, nil
		how.Extract = func(stream.Handler, Put) error { return nil }
		for _, written := range []int{4, 0} { // those that lose a key, and then none
			if moved, err := move(how, nil); err != nil || moved.Written != written {
				t.Errorf("a move without those keys: %+v, %v, want %d written", moved, err, written)
			}
		}
		rt, end := w.begin("a", processors.Config{Workers: 2, FS: fs}, to)
		var rs []*kgo.Record
		for i := range 60 {
			key := fmt.Appendf(nil, "k%d", i%10)
			p := at6(key)
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
			got[k] = w.sum(rt, at6([]byte(k)), k)
		}
		if !maps.Equal(got, want) {
			t.Errorf("the new account holds %v, want %v", got, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := move(how, nil); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("a move onto a account at work: %v", err)
		}
		if now := w.logTotals(); now["k3"] != 126 {
			t.Errorf("the source has changed: %v", now)
		}
		to.Migrated = true
		if _, err := (Start{}).resolve(ctx, &to, kadm.NewClient(cl), nil); !errors.Is(err, ErrTrimmed) {
			t.Errorf("a replay of what was moved, from the beginning: %v", err)
		}
	})
}

// logTables are the keys and values that a changelog holds in table 2, whatever the partition.
func (w *cluster) logTables(topic string, partitions int32) map[string]string {
	out := map[string]string{}
	for _, r := range w.readN(topic, partitions) {
		if r.Key[0] != 2 {
			continue
		}
		if out[string(r.Key[1:])] = string(r.Value); r.Value == nil {
			delete(out, string(r.Key[1:]))
		}
	}
	return out
}

// logTimers are the timers that a changelog holds, whatever the partition.
func (w *cluster) logTimers(topic string, partitions int32) map[string]bool {
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
