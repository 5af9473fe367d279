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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// TestRepartition moves the ledger from 3 partitions to 6, where each key has one partition. The
// move is killed at each of its steps in turn, and the source continues between two attempts. The
// totals are equal in the end, and the target continues from there.
func TestRepartition(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs, ctx := w.Disk("a"), context.Background()
		from := timedProcessor()
		w.grow(from, 0, 600)
		to := from
		to.App, to.Inputs, to.Changelog, to.Outputs = "wide", []string{"in6"}, "log6", []stream.Output{{Name: "out", Topic: "out6"}, {Name: "fired", Topic: "out6"}}
		cl := w.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, 6, 1, nil, "in6", "log6", "out6", "wide.dlq"); err != nil {
			t.Fatal(err)
		}
		var epoch, attempts uint64
		rewrite := func(_ byte, _, value []byte, c stream.Commit) ([]byte, error) {
			epoch = c.OwnerEpoch
			return value, nil
		}
		if want := w.logTotals(); want["k3"] != 90 || len(w.logTimers("log")) == 0 {
			t.Fatalf("totals %v, %d timers", want, len(w.logTimers("log")))
		}
		at6 := func(key []byte) int32 { return int32(crc32.ChecksumIEEE(key) % 6) }
		partitionOf := func(_ byte, key, _ []byte) (int32, error) {
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
			return Repartition(ctx, w.config(fs), from, to, how)
		}
		if _, err := move(Repartitioning{Partition: partitionOf}, nil); err == nil {
			t.Error("without Merge, one key of several partitions was moved")
		}
		if _, err := move(Repartitioning{Partition: func(byte, []byte, []byte) (int32, error) { return 6, nil }}, nil); err == nil {
			t.Error("keys were moved to partition 6 of 6")
		}
		how := Repartitioning{Partition: partitionOf, Rewrite: rewrite, Merge: func(table byte, _, one, other []byte) ([]byte, error) {
			if table != 1 {
				return nil, errors.New("no two timers have the same key")
			}
			return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(one)+binary.BigEndian.Uint64(other)), nil
		}}
		// Each attempt writes keys of its own, which the next one must delete.
		how.Extract = func(h stream.Handler, put PutFunc) error {
			attempts++
			return put(int32(attempts%6), 2, fmt.Appendf(nil, "%T %d", h, attempts), []byte("extracted"))
		}
		how.Finish = func(put PutFunc) error { return put(5, 2, fmt.Appendf(nil, "rest %d", attempts), nil) }
		errKilled, killed := errors.New("killed"), 0
		var moved RepartitionResult
		for at := 1; ; at++ {
			n := 0
			var err error
			if moved, err = move(how, func() error {
				if n++; n == at {
					return errKilled
				}
				return nil
			}); err == nil {
				break
			}
			if killed++; !errors.Is(err, errKilled) || killed > 40 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
			if killed == 11 {            // some of these attempts wrote something
				if len(w.logTables("log6")) == 0 {
					t.Error("no attempt has written anything")
				}
				w.fill(3, 30)
				if _, err := move(how, nil); !errors.Is(err, ErrUnread) {
					t.Errorf("a move with unread records: %v", err)
				}
				w.grow(from, 930, 30)
			}
		}
		want := w.logTotals()
		delete(want, "k9")
		if killed < 12 || moved.Merged < 18 || moved.Keys < 13 || moved.Written == 0 || want["k3"] != 126 {
			t.Errorf("killed %d times, moved %+v, totals %v", killed, moved, want)
		}
		timers := w.logTimers("log")
		if now := w.logTimers("log6"); !maps.Equal(now, timers) {
			t.Errorf("%d timers became %d", len(timers), len(now))
		}
		of := fmt.Sprintf("%T", eventOnly{})
		if got, want := w.logTables("log6"), map[string]string{
			fmt.Sprintf("%s %d", of, attempts-2): "extracted", fmt.Sprintf("%s %d", of, attempts-1): "extracted", fmt.Sprintf("%s %d", of, attempts): "extracted", fmt.Sprintf("rest %d", attempts): "",
		}; !maps.Equal(got, want) {
			t.Errorf("the keys of Extract and Finish are %v, want %v", got, want)
		}
		for _, r := range w.Records("log") {
			m := &changelogpb.Marker{}
			if string(r.Key) != string(changelogpb.SystemKey(changelogpb.MarkerKey)) {
				continue
			}
			if err := proto.Unmarshal(r.Value, m); err != nil || m.OwnerEpoch >= epoch {
				t.Errorf("the move wrote as owner %d, the source's last was %d, %v", epoch, m.OwnerEpoch, err)
			}
		}
		how.Extract, how.Finish = nil, nil
		how.Extract = func(stream.Handler, PutFunc) error { return nil }
		for _, written := range []int{4, 0} { // the partitions that lose a key, then none
			if moved, err := move(how, nil); err != nil || moved.Written != written {
				t.Errorf("a move without those keys: %+v, %v, want %d written", moved, err, written)
			}
		}
		p := w.StartWith("a", processors.Config{Workers: 2}, to)
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
		w.WaitFor("the records are folded", time.Minute, func() bool {
			var sum int64
			for _, s := range p.Runtime().Status() {
				sum += s.Next["in6"]
			}
			return sum == 60
		})
		got := map[string]int64{}
		for k := range want {
			got[k] = w.sum(p, at6([]byte(k)), k)
		}
		if !maps.Equal(got, want) {
			t.Errorf("the sums of the target are %v, want %v", got, want)
		}
		p.Stop()
		if _, err := move(how, nil); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("a move to a target that has run: %v", err)
		}
		if now := w.logTotals(); now["k3"] != 126 {
			t.Errorf("the source has changed: %v", now)
		}
		if _, err := (ReplayStart{Migrated: true}).resolve(ctx, &to, kadm.NewClient(cl), nil); !errors.Is(err, ErrTrimmed) {
			t.Errorf("a replay of migrated state from the beginning: %v", err)
		}
	})
}

// logTables returns the keys and values of table 2 in a changelog, over all partitions.
func (w *fixture) logTables(topic string) map[string]string {
	out := map[string]string{}
	for _, r := range w.Records(topic) {
		if r.Key[0] != 2 {
			continue
		}
		if out[string(r.Key[1:])] = string(r.Value); r.Value == nil {
			delete(out, string(r.Key[1:]))
		}
	}
	return out
}

// logTimers returns the timers in a changelog, over all partitions.
func (w *fixture) logTimers(topic string) map[string]bool {
	timers := map[string]bool{}
	for _, r := range w.Records(topic) {
		if r.Key[0] != 127 {
			continue
		}
		if timers[string(r.Key)] = true; r.Value == nil {
			delete(timers, string(r.Key))
		}
	}
	return timers
}
