package kafkaadmin

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

func fake(t testing.TB, opts ...kfake.Opt) (*kfake.Cluster, kafka.Cluster) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, kafka.Cluster{Brokers: c.ListenAddrs()}
}

func client(t testing.TB, k kafka.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := k.Client(append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes records, in one transaction if txn is not empty.
func produce(t testing.TB, k kafka.Cluster, txn string, records ...*kgo.Record) {
	t.Helper()
	var opts []kgo.Opt
	if txn != "" {
		opts = append(opts, kgo.TransactionalID(txn))
	}
	cl := client(t, k, opts...)
	if txn != "" {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if txn != "" {
		if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	cl.Close()
}

// abort writes the records in a transaction that it aborts.
func abort(t testing.TB, k kafka.Cluster, records ...*kgo.Record) {
	t.Helper()
	cl := client(t, k, kgo.TransactionalID("aborted"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

// committed reads all committed records of a topic with the scanner. Tests of the scanner compare
// it with a consumer.
func committed(t testing.TB, k kafka.Cluster, topic string) []*kgo.Record {
	t.Helper()
	cl := client(t, k)
	s, err := newScanner(t.Context(), cl, topic)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := kadm.NewClient(cl).ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var out []*kgo.Record
	for _, p := range s.partitions() {
		end, _ := ends.Lookup(topic, p)
		if err := s.read(t.Context(), p, 0, end.Offset, func(r *kgo.Record) { out = append(out, r) }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
