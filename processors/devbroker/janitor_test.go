package devbroker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/internal/testlimit"
)

// awaitCompaction waits until the requested compaction has run. Each poll is a request, in which it
// may run.
func awaitCompaction(t testing.TB, b *Broker) {
	t.Helper()
	adm := kadm.NewClient(client(t, b))
	testlimit.Within(t, "compaction", func(ctx context.Context) error {
		if _, err := adm.BrokerMetadata(ctx); err != nil {
			return err
		}
		b.janitor.mu.Lock()
		defer b.janitor.mu.Unlock()
		if b.janitor.waiting {
			return errors.New("it waits")
		}
		return nil
	})
}

func put(t testing.TB, cl *kgo.Client, key, value string) {
	t.Helper()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Key: []byte(key), Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestCompactionKeepsTheLastCommittedValue(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		b := start(t, Config{DataDir: dir, Topics: topics(1), Interval: time.Hour})
		plain, txn := client(t, b, kgo.ProducerBatchCompression(kgo.NoCompression())), client(t, b, kgo.TransactionalID("a"))
		big := string(bytes.Repeat([]byte("x"), 1<<19))
		for i := range 4 {
			put(t, plain, "filler", big+strconv.Itoa(i))
		}
		put(t, plain, "key", "committed")
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		put(t, txn, "key", "open")
		put(t, plain, "other", "last") // kfake never compacts the last batch
		b.janitor.wantCompaction()
		if _, err := kadm.NewClient(plain).BrokerMetadata(t.Context()); err != nil { // a request in which no compaction may run
			t.Fatal(err)
		}
		if got := b.cluster.PartitionInfo("log", 0).NumBytes; got < 2<<20 {
			t.Errorf("compacted while a transaction is open: %d bytes", got)
		}
		if err := txn.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		awaitCompaction(t, b)
		if got := fmt.Sprint(committed(t, b, "log")[0]); got != "["+big+"3 committed last]" {
			t.Errorf("values after the compaction: %.40s... %s", got, got[max(0, len(got)-40):])
		}
		if got := b.cluster.PartitionInfo("log", 0).NumBytes; got > 1<<20 {
			t.Errorf("%d bytes after the compaction", got)
		}
		if dir == "" {
			continue
		}
		for _, name := range []string{backupNew, backupCurrent, backupOld} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s was left behind", name)
			}
		}
		b = start(t, Config{DataDir: copyDir(t, dir), Topics: topics(1)}) // as after a kill
		if got := len(committed(t, b, "log")[0]); got != 3 {
			t.Errorf("%d values after a kill", got)
		}
	}
}

// TestKilledCompaction removes and truncates files as kfake leaves them during a compaction.
func TestKilledCompaction(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(2), Interval: time.Hour})
	put(t, client(t, b), "a", "1")
	put(t, client(t, b), "a", "2")
	if _, err := b.backUp([]string{"log"}); err != nil {
		t.Fatal(err)
	}
	cut := copyDir(t, dir)
	part := filepath.Join(cut, "kafka", "partitions", "log-0")
	for _, f := range []string{"0.dat", "0.idx"} {
		if err := os.Remove(filepath.Join(part, f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(part, "1.dat"), []byte("incomplete"), 0o600); err != nil {
		t.Fatal(err)
	}
	b = start(t, Config{DataDir: cut, Topics: topics(2)})
	if got := fmt.Sprint(committed(t, b, "log")[0]); got != "[1 2]" {
		t.Errorf("after the kill: %s", got)
	}
	if _, err := os.Stat(filepath.Join(cut, backupCurrent)); err == nil {
		t.Error("the backup is still there: the next start would restore it again")
	}
}

func TestTrimKeepsUnreadRecords(t *testing.T) {
	b := start(t, Config{Topics: topics(2), TopicBytes: 200 << 10, Interval: time.Hour})
	cl := client(t, b, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range 400 {
		for p := range int32(2) {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Partition: p, Value: bytes.Repeat([]byte{byte(i)}, 1000)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := kadm.Offsets{}
	at.AddOffset("in", 0, 50, -1)
	if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	b.janitor.trim()
	slow, free := b.cluster.PartitionInfo("in", 0), b.cluster.PartitionInfo("in", 1)
	if slow.LogStartOffset != 50 {
		t.Errorf("the group's offset is 50, the log begins at %d", slow.LogStartOffset)
	}
	if free.LogStartOffset < 250 || free.HighWatermark-free.LogStartOffset < 50 || free.NumBytes > 110<<10 {
		t.Errorf("partition without a group: %+v", free)
	}
}

// TestOldPartitionsKeepTheirEnd: after all records of a partition have expired, a restart keeps its
// end offset.
func TestOldPartitionsKeepTheirEnd(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{DataDir: dir, Topics: topics(2), Interval: time.Hour}
	b := start(t, cfg)
	cl := client(t, b)
	for range 3 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("old"), Timestamp: time.Now().Add(-8 * 24 * time.Hour)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = start(t, cfg) // adds a batch without records
	b.cluster.ApplyRetention()
	if p := b.cluster.PartitionInfo("in", 0); p.LogStartOffset != 3 || p.HighWatermark != 4 {
		t.Errorf("%+v", p)
	}
	if err := b.cluster.DeleteRecords("in", 0, -1); err != nil { // delete every record
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = start(t, cfg)
	if p := b.cluster.PartitionInfo("in", 0); p.HighWatermark != 4 {
		t.Errorf("the partition ends at %d", p.HighWatermark)
	}
	if err := client(t, b).ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("new")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[new]" {
		t.Errorf("committed: %s", got)
	}
}

// BenchmarkGrowth runs the load of `weir dev`. One round stands for 100 ms of 1,000 events per
// second: 100 events of 100 bytes over 24 partitions, and a transaction with 100 keys and their
// offsets. It reports the bytes per event that the broker keeps in memory without a data directory,
// and in memory and on disk with one.
func BenchmarkGrowth(b *testing.B) {
	for _, disk := range []bool{false, true} {
		b.Run(fmt.Sprintf("disk=%v", disk), func(b *testing.B) {
			dir := ""
			if disk {
				dir = b.TempDir()
			}
			br := start(b, Config{DataDir: dir, Topics: topics(24), Interval: time.Hour})
			in, out := client(b, br), client(b, br, kgo.TransactionalID("a"))
			value := bytes.Repeat([]byte("0123456789"), 10)
			before := heap()
			rounds := 0
			for b.Loop() {
				rounds++
				for i := range 100 {
					in.Produce(b.Context(), &kgo.Record{Topic: "in", Partition: int32(i % 24), Key: []byte("account"), Value: value}, nil)
				}
				_ = out.BeginTransaction()
				for i := range 100 {
					out.Produce(b.Context(), &kgo.Record{Topic: "log", Partition: int32(i % 24), Key: fmt.Append(nil, i), Value: value}, nil)
				}
				if err := in.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := out.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := out.EndTransaction(b.Context(), kgo.TryCommit); err != nil {
					b.Fatal(err)
				}
				if rounds%600 == 0 { // once a minute
					br.janitor.wantCompaction()
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(100*rounds), "heap-B/event")
			br.janitor.wantCompaction()
			awaitCompaction(b, br)
			b.ReportMetric(float64(heap()-before)/float64(100*rounds), "heap-after-compaction-B/event")
			if disk {
				b.ReportMetric(float64(diskUse(b, dir))/float64(100*rounds), "disk-B/event")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func diskUse(b *testing.B, dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	return n
}
