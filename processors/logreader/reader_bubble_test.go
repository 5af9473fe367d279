//go:build synctests

package logreader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// fixture is a cluster with the topic "in" of two partitions, and a Reader of it.
type fixture struct {
	*testing.T
	cluster *simkafka.Cluster
	link    *simkafka.Link // of the reader
	r       *logreader.Reader
	cl      *kgo.Client // produces
}

func run(t *testing.T, adjust func(*logreader.Config), f func(x *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		c, err := simkafka.New(2, "in")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &fixture{T: t, cluster: c, link: c.Link()}
		c.KeepEpochs()
		cfg := logreader.Config{Kafka: kafka.Cluster{Options: x.link.Options()}}
		if adjust != nil {
			adjust(&cfg)
		}
		x.r = logreader.New(cfg)
		x.cl = x.client()
		defer func() { x.cl.Close() }()
		f(x)
	})
}

func (x *fixture) client(opts ...kgo.Opt) *kgo.Client {
	x.Helper()
	cl, err := kgo.NewClient(slices.Concat(x.cluster.Link().Options(), []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts)...)
	if err != nil {
		x.Fatal(err)
	}
	return cl
}

func (x *fixture) produce(topic string, partition int32, values ...string) {
	x.Helper()
	for _, v := range values {
		if err := x.cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}).FirstErr(); err != nil {
			x.Fatal(err)
		}
	}
}

// transaction produces values to partition 0 in one transaction.
func (x *fixture) transaction(cl *kgo.Client, how kgo.TransactionEndTry, values ...string) {
	x.Helper()
	if err := cl.BeginTransaction(); err != nil {
		x.Fatal(err)
	}
	for _, v := range values {
		cl.Produce(context.Background(), &kgo.Record{Topic: "in", Value: []byte(v)}, nil)
	}
	if err := errors.Join(cl.Flush(context.Background()), cl.EndTransaction(context.Background(), how)); err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) open(topic string, partition int32, at logreader.Position) *logreader.Partition {
	x.Helper()
	p, err := x.r.Open(topic, partition, at)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(p.Close)
	return p
}

// next returns what Next returns within a time.
func (x *fixture) next(p *logreader.Partition, within time.Duration) (values []string, after logreader.Position, err error) {
	x.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var b logreader.Batch
	for err == nil {
		if err = p.Next(ctx, &b, 1<<20); err == nil {
			after = b.After
			for _, r := range b.Records {
				values = append(values, string(r.Value))
			}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return values, after, err
}

func (x *fixture) want(p *logreader.Partition, want ...string) logreader.Position {
	x.Helper()
	got, after, err := x.next(p, 5*time.Second)
	if err != nil || !slices.Equal(got, want) {
		x.Errorf("%q, error %v, want %q", got, err, want)
	}
	return after
}

// TestNext reads records, transactions and aborted records, and continues at the position of
// another reader.
func TestNext(t *testing.T) {
	run(t, nil, func(x *fixture) {
		txn := x.client(kgo.TransactionalID("t"))
		defer txn.Close()
		p := x.open("in", 0, logreader.Start())
		x.produce("in", 0, "a", "b")
		x.transaction(txn, kgo.TryCommit, "c", "d")
		x.transaction(txn, kgo.TryAbort, "lost")
		if after := x.want(p, "a", "b", "c", "d"); after.Next != 7 {
			x.Errorf("the position is %+v: it must be behind the markers", after)
		}
		if _, err := x.r.Open("in", 0, logreader.Start()); err == nil {
			x.Error("the partition is open twice")
		}
		if s := p.Status(); s.End != 7 || s.At.Next != 7 || s.Reason != "" {
			x.Errorf("status %+v", s)
		}
		at := p.Status().At
		p.Close()
		p.Close()
		x.produce("in", 0, "e")
		x.want(x.open("in", 0, at), "e")
		x.want(x.open("in", 1, logreader.Start()))
	})
}

// TestRecord: a record has its key, value, time and headers.
func TestRecord(t *testing.T) {
	run(t, nil, func(x *fixture) {
		rec := &kgo.Record{Topic: "in", Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(1_700_000_000_123), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}}
		if err := x.cl.ProduceSync(x.Context(), rec).FirstErr(); err != nil {
			x.Fatal(err)
		}
		var b logreader.Batch
		if err := x.open("in", 0, logreader.Start()).Next(x.Context(), &b, 1); err != nil {
			x.Fatal(err)
		}
		r := b.Records[0]
		if string(r.Key) != "k" || string(r.Value) != "v" || r.TimeMs != 1_700_000_000_123 || len(r.Headers) != 1 || r.Headers[0].Key != "h" || string(r.Headers[0].Value) != "1" {
			x.Errorf("%+v, want %+v", r, stream.Header{Key: "h", Value: []byte("1")})
		}
	})
}

// TestMissingTopic waits for a topic, and for a partition of it.
func TestMissingTopic(t *testing.T) {
	run(t, nil, func(x *fixture) {
		p := x.open("late", 1, logreader.Start())
		x.want(p)
		if s := p.Status(); !strings.Contains(s.Reason, "topic late does not exist") || s.Stopped != nil || s.End != -1 {
			x.Errorf("status %+v", s)
		}
		if err := x.cluster.CreateTopic("late", 1, nil); err != nil {
			x.Fatal(err)
		}
		x.want(p)
		if s := p.Status(); !strings.Contains(s.Reason, "has 1 partitions, and none with number 1") {
			x.Errorf("status %+v", s)
		}
		if _, err := kadm.NewClient(x.cl).CreatePartitions(x.Context(), 1, "late"); err != nil {
			x.Fatal(err)
		}
		time.Sleep(5 * time.Second) // the producer's metadata
		x.produce("late", 1, "a")
		x.want(p, "a")
	})
}

// TestPartitions: a topic with another number of partitions than expected is not read, also if the
// number changes while it is read.
func TestPartitions(t *testing.T) {
	run(t, func(c *logreader.Config) { c.Partitions = 2 }, func(x *fixture) {
		p := x.open("in", 0, logreader.Start())
		x.produce("in", 0, "a")
		x.want(p, "a")
		if _, err := kadm.NewClient(x.cl).CreatePartitions(x.Context(), 1, "in"); err != nil {
			x.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		x.produce("in", 0, "b")
		got, _, err := x.next(p, time.Minute)
		other := new(logreader.PartitionsError)
		if !errors.As(err, &other) || other.Has != 3 || other.Want != 2 || len(got) > 0 {
			x.Errorf("%q, error %v", got, err)
		}
		if s := p.Status(); s.Stopped == nil {
			x.Errorf("status %+v", s)
		}
	})
}

// TestRecreatedTopic: a topic that was created again is not read, whatever it has at the position.
// Its owner decides to read it from its start.
func TestRecreatedTopic(t *testing.T) {
	for _, connected := range []bool{true, false} {
		run(t, nil, func(x *fixture) {
			p := x.open("in", 0, logreader.Start())
			x.produce("in", 0, "a", "b")
			at := x.want(p, "a", "b")
			if !connected {
				p.Close()
			}
			if err := errors.Join(x.cluster.DeleteTopic("in"), x.cluster.CreateTopic("in", 2, nil)); err != nil {
				x.Fatal(err)
			}
			cl := x.client()
			defer cl.Close()
			for _, v := range []string{"1", "2", "3"} {
				if err := cl.ProduceSync(x.Context(), &kgo.Record{Topic: "in", Value: []byte(v)}).FirstErr(); err != nil {
					x.Fatal(err)
				}
			}
			if !connected {
				p = x.open("in", 0, at)
			}
			got, _, err := x.next(p, 30*time.Second)
			recreated := new(logreader.RecreatedError)
			if !errors.As(err, &recreated) || len(got) > 0 || recreated.Was != at.Topic {
				x.Fatalf("connected %t: %q, error %v", connected, got, err)
			}
			x.want(p) // the error is not repeated
			if s := p.Status(); s.Stopped == nil {
				x.Errorf("connected %t: status %+v", connected, s)
			}
			p.Close()
			x.want(x.open("in", 0, logreader.Position{Topic: recreated.Is, Epoch: -1}), "1", "2", "3")
		})
	}
}

// TestTrimmed: retention deletes records before they were read. The partition states how many, and
// continues where its owner opens it. The other partition continues.
func TestTrimmed(t *testing.T) {
	run(t, nil, func(x *fixture) {
		x.produce("in", 0, "a", "b", "c", "d", "e")
		x.produce("in", 1, "x")
		p, other := x.open("in", 0, logreader.Position{Next: 1, Epoch: -1}), x.open("in", 1, logreader.Start())
		x.link.Cut()
		if err := x.cluster.DeleteRecords("in", 0, 4); err != nil {
			x.Fatal(err)
		}
		x.link.Heal()
		_, _, err := x.next(p, time.Minute)
		gone := new(kafka.UnreadableError)
		if !errors.As(err, &gone) || gone.Offset != 1 || gone.Lost != 3 || gone.Resume != 4 {
			x.Fatalf("error %v", err)
		}
		x.want(other, "x")
		x.want(p)
		p.Close()
		x.want(x.open("in", 0, logreader.Position{Next: gone.Resume, Epoch: -1}), "e")
	})
}

// TestTrimmedWhileReading deletes records behind the back of a reader that has its queue full.
func TestTrimmedWhileReading(t *testing.T) {
	run(t, func(c *logreader.Config) { c.QueueBytes = 1000 }, func(x *fixture) {
		long := strings.Repeat("x", 900)
		x.produce("in", 0, "a")
		p := x.open("in", 0, logreader.Start())
		time.Sleep(5 * time.Second) // the queue is full
		for range 20 {
			x.produce("in", 0, long)
		}
		if err := x.cluster.DeleteRecords("in", 0, 21); err != nil {
			x.Fatal(err)
		}
		got, _, err := x.next(p, time.Minute)
		gone := new(kafka.UnreadableError)
		if !errors.As(err, &gone) || gone.Offset != int64(len(got)) || gone.Lost != 21-int64(len(got)) || got[0] != "a" {
			x.Errorf("%d records, error %v", len(got), err)
		}
	})
}

// TestTruncated: the log ends before the position, as after the election of a leader that lacked
// records.
func TestTruncated(t *testing.T) {
	run(t, nil, func(x *fixture) {
		x.produce("in", 0, "a", "b")
		p := x.open("in", 0, logreader.Position{Next: 9, Epoch: -1})
		_, _, err := x.next(p, time.Minute)
		short := new(logreader.TruncatedError)
		if !errors.As(err, &short) || short.Next != 9 || short.Resume != 2 {
			x.Errorf("error %v", err)
		}
	})
}

// TestOutage: the cluster is away for ten minutes. Status states so, and the reader continues by
// itself.
func TestOutage(t *testing.T) {
	run(t, nil, func(x *fixture) {
		p := x.open("in", 0, logreader.Start())
		x.produce("in", 0, "a")
		x.want(p, "a")
		x.link.Cut()
		x.produce("in", 0, "b")
		if got, _, err := x.next(p, 10*time.Minute); len(got) > 0 || err != nil {
			x.Errorf("%q, error %v", got, err)
		}
		if s := p.Status(); s.Reason == "" || s.Stopped != nil {
			x.Errorf("status %+v", s)
		}
		x.link.Heal()
		if got, _, err := x.next(p, 15*time.Second); !slices.Equal(got, []string{"b"}) || err != nil {
			x.Errorf("%q, error %v", got, err)
		}
		if s := p.Status(); s.Reason != "" {
			x.Errorf("status %+v", s)
		}
	})
}

// TestFirstContact: the cluster is away at the start.
func TestFirstContact(t *testing.T) {
	run(t, nil, func(x *fixture) {
		x.produce("in", 0, "a")
		x.link.Cut()
		p := x.open("in", 0, logreader.Start())
		x.want(p)
		if s := p.Status(); s.Reason == "" || s.End != -1 {
			x.Errorf("status %+v", s)
		}
		x.link.Heal()
		if got, _, err := x.next(p, 30*time.Second); !slices.Equal(got, []string{"a"}) || err != nil {
			x.Errorf("%q, error %v", got, err)
		}
	})
}

// TestSlowCaller: a partition whose caller takes nothing has a bounded queue, and holds up no other
// one.
func TestSlowCaller(t *testing.T) {
	run(t, func(c *logreader.Config) { c.QueueBytes = 4000 }, func(x *fixture) {
		slow, quick := x.open("in", 0, logreader.Start()), x.open("in", 1, logreader.Start())
		var want []string
		for i := range 100 {
			x.produce("in", 0, fmt.Sprint(i, strings.Repeat("x", 200)))
			x.produce("in", 1, fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		x.want(quick, want...)
		if n := slow.QueueBytes(); n < 4000 || n > 4000+20*500 {
			x.Errorf("%d bytes are in the queue of the slow partition", n)
		}
		var b logreader.Batch
		if err := slow.Next(x.Context(), &b, 1000); err != nil || len(b.Records) != 3 {
			x.Errorf("%d records of 1000 bytes, error %v", len(b.Records), err)
		}
		got, _, err := x.next(slow, 5*time.Second)
		if err != nil || len(got) != 97 || !strings.HasPrefix(got[96], "99x") {
			x.Errorf("%d records, error %v", len(got), err)
		}
	})
}
