package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func fakeKafka(t testing.TB, topic string, partitions int32, opts ...kfake.Opt) (*kfake.Cluster, Cluster) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, Cluster{Brokers: c.ListenAddrs()}
}

func newProducer(t testing.TB, k Cluster, topic string) *Producer {
	t.Helper()
	p, err := NewProducer(k, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// consume reads n records of topic and returns them per partition, in order.
func consume(t testing.TB, k Cluster, topic string, n int) map[int32][]*kgo.Record {
	t.Helper()
	cl, err := k.Client(kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	out := map[int32][]*kgo.Record{}
	for got := 0; got < n; {
		f := cl.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) { out[r.Partition] = append(out[r.Partition], r); got++ })
	}
	return out
}

func TestProducerCopiesAndKeepsOrder(t *testing.T) {
	_, k := fakeKafka(t, "in", 3)
	p := newProducer(t, k, "in")
	const each = 2000
	var wg sync.WaitGroup
	for part := range int32(3) {
		wg.Go(func() { // one goroutine per partition, which reuses one buffer
			key, value := make([]byte, 0, 16), make([]byte, 0, 16)
			for i := range each {
				key, value = fmt.Appendf(key[:0], "k%d", part), fmt.Appendf(value[:0], "%d", i)
				if err := p.Produce(t.Context(), part, key, value); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Acked() != 3*each {
		t.Fatalf("acked %d, want %d", p.Acked(), 3*each)
	}
	for part, rs := range consume(t, k, "in", 3*each) {
		if len(rs) != each {
			t.Fatalf("partition %d has %d records", part, len(rs))
		}
		for i, r := range rs {
			if want := fmt.Sprint(i); string(r.Value) != want || string(r.Key) != fmt.Sprintf("k%d", part) {
				t.Fatalf("partition %d: record %d is %s=%s", part, i, r.Key, r.Value)
			}
		}
	}
}

func TestProducerDistinguishesNilAndEmpty(t *testing.T) {
	_, k := fakeKafka(t, "in", 1)
	p := newProducer(t, k, "in")
	big := bytes.Repeat([]byte{'x'}, producerBlock)
	type pair struct{ key, value []byte }
	all := []pair{{nil, nil}, {nil, []byte{}}, {[]byte{}, nil}, {[]byte{}, []byte{}}, {[]byte("k"), nil}, {nil, []byte("v")}, {[]byte("k"), big}}
	for _, c := range all {
		if err := p.Produce(t.Context(), 0, c.key, c.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, r := range consume(t, k, "in", len(all))[0] {
		c := all[i]
		if !bytes.Equal(r.Key, c.key) || (r.Key == nil) != (c.key == nil) || !bytes.Equal(r.Value, c.value) || (r.Value == nil) != (c.value == nil) {
			t.Errorf("record %d: key nil %v, value nil %v, want %v, %v", i, r.Key == nil, r.Value == nil, c.key == nil, c.value == nil)
		}
	}
}

func TestProducerReturnsFirstError(t *testing.T) {
	c, k := fakeKafka(t, "in", 1)
	p := newProducer(t, k, "in")
	if err := p.Produce(t.Context(), 0, nil, []byte("good")); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r := req.(*kmsg.ProduceRequest)
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range r.Topics {
			st := kmsg.NewProduceResponseTopic()
			st.Topic, st.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				sp := kmsg.NewProduceResponseTopicPartition()
				sp.Partition, sp.ErrorCode = rp.Partition, kerr.MessageTooLarge.Code
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp, nil, true
	})
	if err := p.Produce(t.Context(), 0, nil, []byte("bad")); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatalf("flush: %v", err)
	}
	if err := p.Produce(t.Context(), 0, nil, []byte("after")); !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatalf("a record after the failed one: %v", err)
	}
	if p.Acked() != 1 {
		t.Fatalf("acked %d, want 1", p.Acked())
	}
}

func TestProducerErrors(t *testing.T) {
	_, k := fakeKafka(t, "in", 1)
	if _, err := NewProducer(k, "no such/topic"); err == nil {
		t.Error("an illegal topic name was accepted")
	}
	p := newProducer(t, k, "in")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Produce(ctx, 0, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("produce with an ended context: %v", err)
	}
	if err := p.Produce(t.Context(), 7, nil, []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err == nil {
		t.Error("a partition that does not exist was accepted")
	}
	p.Close()
	if err := p.Produce(t.Context(), 0, nil, nil); err == nil {
		t.Error("a closed producer accepted a record")
	}
}

func TestEndOffsetsCountControlRecords(t *testing.T) {
	_, k := fakeKafka(t, "in", 2)
	cl, err := k.Client(kgo.TransactionalID("tx"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Partition: 1, Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	all, err := EndOffsets(t.Context(), k, "in")
	ends := all["in"]
	if err != nil {
		t.Fatal(err)
	}
	if len(ends) != 2 || ends[0] != 0 || ends[1] != 2 {
		t.Fatalf("end offsets %v, want 0:0 1:2 (a record and its commit marker)", ends)
	}
	if _, err := EndOffsets(t.Context(), k, "nowhere"); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Fatalf("a topic that does not exist: %v", err)
	}
}

// BenchmarkProducer writes 100-byte records to 24 partitions of a fake broker that stores nothing.
func BenchmarkProducer(b *testing.B) {
	_, k := fakeKafka(b, "in", 24, kfake.BlackholeProduce())
	p := newProducer(b, k, "in")
	key, value := []byte("account-0001"), bytes.Repeat([]byte("0123456789abcdef"), 6)
	b.SetBytes(int64(len(key) + len(value)))
	b.ReportAllocs()
	n := int32(0)
	for b.Loop() {
		if err := p.Produce(b.Context(), n%24, key, value); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}
