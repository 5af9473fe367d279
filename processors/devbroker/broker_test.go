package devbroker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func start(t testing.TB, cfg Config) *Broker {
	t.Helper()
	b, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func client(t testing.TB, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := b.Kafka().Client(append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// topics returns two topics with p partitions each: "in" has retention, "log" is compacted.
func topics(p int32) []stream.Topic {
	return []stream.Topic{
		{Name: "in", Partitions: p, Cleanup: stream.CleanupDelete, Retention: 7 * 24 * time.Hour},
		{Name: "log", Partitions: p, Cleanup: stream.CleanupCompact, Config: map[string]string{"max.message.bytes": "4194304"}},
	}
}

// committed returns the committed values of a topic, by partition.
func committed(t testing.TB, b *Broker, topic string) map[int32][]string {
	t.Helper()
	adm := kadm.NewClient(client(t, b))
	ends, err := adm.ListCommittedOffsets(t.Context(), topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	starts, err := adm.ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int32][]string{}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if s, _ := starts.Lookup(topic, o.Partition); o.Offset > s.Offset {
			left[o.Partition] = o.Offset
		}
	})
	cl := client(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(50*time.Millisecond))
	for len(left) > 0 {
		f := cl.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out[r.Partition] = append(out[r.Partition], string(r.Value))
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return out
}

func offsets(t testing.TB, b *Broker, group string) map[int32]int64 {
	t.Helper()
	got, err := kadm.NewClient(client(t, b)).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int32]int64{}
	got.Each(func(o kadm.OffsetResponse) { out[o.Partition] = o.At })
	return out
}

func TestStart(t *testing.T) {
	want := append(events.Catalog("local", events.Layout{}), events.CopiedTopics("far", events.Layout{})...)
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "a", "b")} {
		began := time.Now()
		b := start(t, Config{DataDir: dir, Topics: want})
		t.Logf("start took %s", time.Since(began))
		for _, a := range b.Addrs() {
			host, _, err := net.SplitHostPort(a)
			if err != nil || !net.ParseIP(host).IsLoopback() {
				t.Errorf("listens on %s", a)
			}
		}
		if v, err := kafka.TransactionVersion(t.Context(), client(t, b)); err != nil || v < 2 {
			t.Errorf("transaction.version %d, %v", v, err)
		}
		if steps, err := kafkaadmin.PlanTopics(t.Context(), b.Kafka(), want, kafkaadmin.Defaults{}); err != nil || len(steps) > 0 {
			t.Errorf("the topics differ from the catalogue: %v %v", steps, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(2)})
	if _, err := Start(Config{DataDir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second broker in one directory: %v", err)
	}
	_, port, _ := net.SplitHostPort(b.Addrs()[0])
	var n int
	if _, err := fmt.Sscan(port, &n); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Config{Port: n}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second broker on one port: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Config{DataDir: dir, Topics: topics(3)}); err == nil {
		t.Error("another number of partitions was accepted")
	}
	if b, err := Start(Config{DataDir: dir, Port: n, Topics: topics(2)}); err != nil { // the directory and the port are free again
		t.Error(err)
	} else if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestCleanRestart: a restart keeps records, offsets of groups, aborted transactions, and the open
// transaction of a transactional id.
func TestCleanRestart(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{DataDir: dir, Topics: topics(2)}
	b := start(t, cfg)
	run := func(id string, end kgo.TransactionEndTry, values ...string) {
		t.Helper()
		cl := client(t, b, kgo.TransactionalID(id))
		defer cl.Close()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Key: []byte("k"), Value: []byte(v)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cl.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	run("a", kgo.TryCommit, "1", "2")
	run("a", kgo.TryAbort, "x")
	at := kadm.Offsets{}
	at.AddOffset("in", 0, 3, -1)
	if err := kadm.NewClient(client(t, b)).CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	hanging := client(t, b, kgo.TransactionalID("b"))
	if err := hanging.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := hanging.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	hanging.Close()
	id := b.cluster.TopicInfo("in").TopicID
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "commit.journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a closed broker left its journal: %v", err)
	}

	b = start(t, cfg)
	if b.cluster.TopicInfo("in").TopicID != id {
		t.Error("the topic has another id: the runtime would take it for a recreated topic")
	}
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[1 2]" {
		t.Errorf("committed: %s", got)
	}
	if got := offsets(t, b, "g")[0]; got != 3 {
		t.Errorf("group is at %d", got)
	}
	run("b", kgo.TryCommit, "3") // the same id aborts its open transaction
	run("a", kgo.TryCommit, "4")
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[1 2 3 4]" {
		t.Errorf("committed after more: %s", got)
	}
}
