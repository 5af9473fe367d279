package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/testlimit"
	tables "github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
)

// tableTopic is the topic of TestFollower, with tablePartitions partitions.
const (
	tableTopic      = "follower.rows"
	tablePartitions = 3
)

// TestFollower: a follower of a compacted topic, whose transactions may abort, is killed with the
// unsynced writes of its disk, and started again. Its rows equal the fold of a plain consumer.
func TestFollower(t *testing.T) {
	c := empty(t)
	compact, dirty, segment := "compact", "0.01", "100"
	settings := map[string]*string{"cleanup.policy": &compact, "min.cleanable.dirty.ratio": &dirty, "segment.ms": &segment}
	testlimit.Within(t, "create the topic", func(ctx context.Context) error {
		_, err := c.adm.CreateTopic(ctx, tablePartitions, 1, settings, tableTopic)
		return err
	})
	rng, _ := seeded(t)
	writer := c.client(kgo.TransactionalID("writer of "+tableTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fs := crashfs.New()
	aborted := 0
	for range 2 {
		f, stop := startFollower(t, c, fs)
		for range 6 {
			if rng.IntN(3) == 0 {
				aborted++
				transact(t, writer, rng, kgo.TryAbort)
			} else {
				transact(t, writer, rng, kgo.TryCommit)
			}
		}
		<-f.CaughtUp()
		transact(t, writer, rng, kgo.TryCommit)
		fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}) // the kill: the next run has only this
		stop()
	}
	f, stop := startFollower(t, c, fs)
	defer stop()
	asked := time.Now()
	testlimit.Within(t, "the rows are those of the topic", func(context.Context) error {
		if !f.AsOf().After(asked) {
			return fmt.Errorf("as of %s: %+v", f.AsOf(), f.Status())
		}
		got := map[string]string{}
		for p := range int32(tablePartitions) {
			if err := f.Scan(tableTopic, p, nil, func(r tables.Row) error {
				got[fmt.Sprintf("%d %s", p, r.Key)] = fmt.Sprintf("%s@%d", r.Value, r.Offset)
				return nil
			}); err != nil {
				return err
			}
		}
		// The markers of the last transaction may be written after its end was acknowledged.
		if want := committed(t, c); !maps.Equal(got, want) || len(want) == 0 { //nolint:contextcheck // it has the context of the test
			return fmt.Errorf("rows %v\nwant %v", got, want)
		}
		return nil
	})
	if aborted == 0 {
		t.Error("no transaction was aborted")
	}
}

// startFollower runs a follower until stop.
func startFollower(t *testing.T, c *cluster, fs vfs.FS) (f *tables.Follower, stop func()) {
	t.Helper()
	f, err := tables.New(tables.Config{Kafka: kafka.Cluster{Brokers: c.addrs()}, Dir: "/state", Name: "rows", FS: fs, Topics: []tables.Topic{{Name: tableTopic}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return f, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// transact writes some rows and tombstones of few keys in a transaction.
func transact(t *testing.T, writer *kgo.Client, rng *rand.Rand, end kgo.TransactionEndTry) {
	t.Helper()
	var records []*kgo.Record
	for range 1 + rng.IntN(10) {
		r := &kgo.Record{Topic: tableTopic, Partition: rng.Int32N(tablePartitions), Key: fmt.Append(nil, rng.IntN(20))}
		if rng.IntN(4) > 0 {
			r.Value = fmt.Append(nil, rng.IntN(1000))
		}
		records = append(records, r)
	}
	err := writer.BeginTransaction()
	err = errors.Join(err, writer.ProduceSync(t.Context(), records...).FirstErr(), writer.EndTransaction(t.Context(), end))
	if err != nil {
		t.Fatal(err)
	}
}

// committed returns the last value of each key with its offset, as a plain consumer reads them.
func committed(t *testing.T, c *cluster) map[string]string {
	t.Helper()
	ends, err := c.adm.ListCommittedOffsets(t.Context(), tableTopic)
	if err != nil {
		t.Fatal(err)
	}
	all, left := map[int32]kgo.Offset{}, map[int32]int64{}
	for p := range int32(tablePartitions) {
		all[p] = kgo.NewOffset().AtStart()
		if end, _ := ends.Lookup(tableTopic, p); end.Offset > 0 {
			left[p] = end.Offset
		}
	}
	reader := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tableTopic: all}), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	rows := map[string]string{}
	for len(left) > 0 {
		reader.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			key := fmt.Sprintf("%d %s", r.Partition, r.Key)
			switch {
			case r.Attrs.IsControl():
			case r.Value == nil:
				delete(rows, key)
			default:
				rows[key] = fmt.Sprintf("%s@%d", r.Value, r.Offset)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}
