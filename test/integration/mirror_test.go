package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/testlimit"
)

const mirrorShards = 6

// TestMirror copies the events and adjustments of the datacentre us into eu, each with a Kafka of
// its own. The process of the mirror is killed again and again, and the broker of us restarts. Each
// record is copied once and in order.
func TestMirror(t *testing.T) {
	rng, _ := seeded(t)
	eu := empty(t)
	us := newCluster(t, peerBroker(t))
	settings := []string{
		fmt.Sprintf("spend: {partitions: %d}", mirrorShards), "topics: {replication_factor: 1, min_insync: 1}",
		"dcs: [eu, 'us=" + us.brokers[0].addr + "']",
	}
	mirror := newInstance(eu, "eu", append(settings, "dc: eu")...)
	mirror.roles = "mirror"
	there := newInstance(us, "us", append(settings[:2:2], "dc: us")...)
	for _, i := range []*instance{mirror, there} {
		if r := weir(t, "topics", "apply", "--for", "spend", "-f", i.config); r.code != 0 {
			t.Fatalf("create the topics of %s: %s", i.name, r.stderr)
		}
	}
	load := loadPeer(us)
	p := mirror.start()
	p.ready()
	kills := 0
	kill := func() {
		pass(t, time.Duration(rng.IntN(1500))*time.Millisecond)
		p.kill()
		kills++
		p = mirror.start()
		p.ready()
	}
	for range 3 {
		load.transactions(t, us)
		kill()
	}
	for _, fault := range [][][]string{{{"restart", "-t", "30"}}, {{"kill", "--signal", "KILL"}, {"start"}}} {
		for _, step := range fault {
			us.brokers[0].docker(t, step...)
		}
		kill() // while us is away, or comes back
		testlimit.Within(t, "the broker of us serves again", func(ctx context.Context) error { return serves(ctx, us.addrs(), 1) })
	}
	load.transactions(t, us)
	load.stop()
	records := 0
	for _, first := range []struct{ topic, copies string }{
		{events.EventsTopic, events.CopiedEventsTopic("us")}, {events.AdjustmentsTopic, events.CopiedAdjustmentsTopic("us")},
	} {
		var source, copies [mirrorShards][]*kgo.Record
		testlimit.Within(t, "the copies of "+first.topic, func(ctx context.Context) error {
			// The marker of the last transaction may come later. Until then the records behind it
			// are not committed.
			source = committedRecords(ctx, us, first.topic)
			copies = committedRecords(ctx, eu, first.copies)
			return sameCopies(source, copies)
		})
		for _, list := range source {
			records += len(list)
		}
		for name, wrong := range map[string][]*kgo.Record{
			"missing": slices.Delete(slices.Clone(copies[1]), 3, 4), "twice": slices.Insert(slices.Clone(copies[1]), 3, copies[1][2]), "late": append(slices.Clone(copies[1][1:]), copies[1][0]),
		} {
			mutated := copies
			if mutated[1] = wrong; sameCopies(source, mutated) == nil {
				t.Errorf("the comparison does not notice a copy that is %s", name)
			}
		}
	}
	p.alive()
	t.Logf("%d records, %d kills", records, kills)
	if records < 2000 {
		t.Errorf("%d records are too few to mean anything", records)
	}
}

// peerBroker starts a broker that the cleanup of the test removes.
func peerBroker(t *testing.T) *broker {
	t.Helper()
	b, err := startBroker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.terminate)
	return b
}

// peerLoad produces to a datacentre until stop is called.
type peerLoad struct {
	stop func()
	made int // of transactions
}

// loadPeer produces events and adjustments to all partitions. It fails the test if a record is not
// acknowledged in the end.
func loadPeer(c *cluster) *peerLoad {
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	ctx, stop, ended := c.t.Context(), make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var failed error
		for n, stopped := 0, false; !stopped; n++ {
			for i := range 10 {
				cl.Produce(ctx, peerRecord(fmt.Sprint("load ", n, " ", i), n+i), func(_ *kgo.Record, err error) { failed = errors.Join(failed, err) })
			}
			select {
			case <-tick.C:
			case <-stop:
				stopped = true
			case <-ctx.Done():
				stopped = true
			}
		}
		ended <- errors.Join(cl.Flush(ctx), failed)
	}()
	return &peerLoad{stop: func() {
		close(stop)
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	}}
}

func peerRecord(value string, n int) *kgo.Record {
	r := &kgo.Record{Topic: events.EventsTopic, Partition: int32(n % mirrorShards), Key: fmt.Append(nil, "account ", n%7), Value: []byte(value)}
	if n%5 == 0 {
		r.Topic, r.Headers = events.AdjustmentsTopic, []kgo.RecordHeader{{Key: "trace", Value: []byte("1")}}
	}
	return r
}

// transactions commits one transaction, and aborts one.
func (l *peerLoad) transactions(t *testing.T, c *cluster) {
	t.Helper()
	cl := c.client(kgo.TransactionalID("peer-load"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	ctx := testlimit.Context(t)
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			l.made++
			cl.Produce(ctx, peerRecord(fmt.Sprint("transaction ", l.made), l.made), nil)
		}
		if err := errors.Join(cl.Flush(ctx), cl.EndTransaction(ctx, end)); err != nil {
			t.Fatal(err)
		}
	}
}

// committedRecords returns the committed records of a topic by partition.
func committedRecords(ctx context.Context, c *cluster, topic string) (out [mirrorShards][]*kgo.Record) {
	c.t.Helper()
	ends, err := c.adm.ListCommittedOffsets(ctx, topic)
	if err != nil {
		c.t.Fatal(err)
	}
	for n := range int32(mirrorShards) {
		end, _ := ends.Lookup(topic, n)
		cl := c.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {n: kgo.NewOffset().AtStart()}}))
		for next := int64(0); next < end.Offset; {
			fetches := cl.PollFetches(ctx)
			if ctx.Err() != nil {
				c.t.Fatalf("read %s[%d] at offset %d of %d: %v", topic, n, next, end.Offset, ctx.Err())
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if next = r.Offset + 1; !r.Attrs.IsControl() {
					out[n] = append(out[n], r)
				}
			})
		}
		cl.Close()
	}
	return out
}

// sameCopies returns the first difference between the records of a topic and their copies.
func sameCopies(source, copies [mirrorShards][]*kgo.Record) error {
	for n := range source {
		previous := int64(-1)
		for i, s := range source[n] {
			if i >= len(copies[n]) {
				return fmt.Errorf("partition %d has %d copies of %d records", n, len(copies[n]), len(source[n]))
			}
			c := copies[n][i]
			last := len(c.Headers) - 1
			o, ok := events.ParseOrigin(c.Headers[max(0, last)].Value)
			if !ok || o.Offset != s.Offset || o.Previous != previous || o.Partition != int32(n) {
				return fmt.Errorf("partition %d: copy %d is of %+v, want offset %d after %d", n, i, o, s.Offset, previous)
			}
			previous = s.Offset
			if !bytes.Equal(c.Key, s.Key) || !bytes.Equal(c.Value, s.Value) || !c.Timestamp.Equal(s.Timestamp) || fmt.Sprint(c.Headers[:last]) != fmt.Sprint(s.Headers) {
				return fmt.Errorf("partition %d: copy %d is %q: %q, want %q: %q", n, i, c.Key, c.Value, s.Key, s.Value)
			}
		}
		if len(copies[n]) > len(source[n]) {
			return fmt.Errorf("partition %d has %d copies of %d records", n, len(copies[n]), len(source[n]))
		}
	}
	return nil
}
