package processorstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
	"github.com/weirhq/weir/stream"
)

// Remote is another simulated cluster beside that of a Harness, for a source that reads one. Its
// methods end the test if they fail.
type Remote struct {
	t    *testing.T
	sim  *simkafka.Cluster
	cl   *kgo.Client            // produces
	txns map[string]*kgo.Client // produce in transactions, by transactional id
}

// NewRemote starts a cluster of three brokers with topics, in the bubble of a Harness. It is closed
// when the test ends.
func NewRemote(t *testing.T, partitions int32, topics ...string) *Remote {
	t.Helper()
	c, err := simkafka.New(partitions, topics...)
	if err != nil {
		t.Fatal(err)
	}
	c.KeepEpochs()
	r := &Remote{t: t, sim: c, txns: map[string]*kgo.Client{}}
	r.cl = r.client()
	t.Cleanup(func() {
		r.cl.Close()
		for _, cl := range r.txns {
			cl.Close()
		}
		c.Close()
	})
	return r
}

func (r *Remote) client(opts ...kgo.Opt) *kgo.Client {
	r.t.Helper()
	cl, err := kgo.NewClient(slices.Concat(r.sim.Link().Options(), []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MetadataMinAge(10 * time.Millisecond),
	}, opts)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return cl
}

// MemFS returns a file system in memory.
func MemFS() vfs.FS { return crashfs.New() }

// RemoteLink is the network between one process and a Remote.
type RemoteLink struct {
	Kafka kafka.Cluster
	link  *simkafka.Link
}

// Cut closes the connections and refuses new ones until Heal is called.
func (l RemoteLink) Cut() { l.link.Cut() }

// Heal ends a Cut.
func (l RemoteLink) Heal() { l.link.Heal() }

// Link returns a new link, which is up.
func (r *Remote) Link() RemoteLink {
	l := r.sim.Link()
	return RemoteLink{kafka.Cluster{Brokers: r.sim.ListenAddrs(), Options: l.Options()}, l}
}

// Produce writes records one after another, outside a transaction.
func (r *Remote) Produce(topic string, partition int32, list ...stream.Message) {
	r.t.Helper()
	if err := r.cl.ProduceSync(context.Background(), records(topic, partition, list)...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// Commit writes records in one transaction.
func (r *Remote) Commit(transactionalID, topic string, partition int32, list ...stream.Message) {
	r.t.Helper()
	r.transact(transactionalID, kgo.TryCommit, records(topic, partition, list))
}

// Abort writes records in one transaction and aborts it.
func (r *Remote) Abort(transactionalID, topic string, partition int32, list ...stream.Message) {
	r.t.Helper()
	r.transact(transactionalID, kgo.TryAbort, records(topic, partition, list))
}

func (r *Remote) transact(transactionalID string, how kgo.TransactionEndTry, list []*kgo.Record) {
	r.t.Helper()
	cl := r.txns[transactionalID]
	if cl == nil {
		cl = r.client(kgo.TransactionalID(transactionalID))
		r.txns[transactionalID] = cl
	}
	ctx := context.Background()
	err := cl.BeginTransaction()
	if err == nil {
		err = errors.Join(cl.ProduceSync(ctx, list...).FirstErr(), cl.EndTransaction(ctx, how))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func records(topic string, partition int32, list []stream.Message) []*kgo.Record {
	var out []*kgo.Record
	for _, m := range list {
		rec := &kgo.Record{Topic: topic, Partition: partition, Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		if m.TimeMs > 0 {
			rec.Timestamp = time.UnixMilli(m.TimeMs)
		}
		out = append(out, rec)
	}
	return out
}

// Records returns the committed records of a topic, by partition.
func (r *Remote) Records(topic string) map[int32][]stream.Record {
	r.t.Helper()
	list, err := r.sim.Read(context.Background(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	return ByPartition(list)
}

// ByPartition converts what Harness.Records returns.
func ByPartition(list []*kgo.Record) map[int32][]stream.Record {
	out := map[int32][]stream.Record{}
	for _, r := range list {
		one := stream.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli()}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, stream.Header{Key: h.Key, Value: h.Value})
		}
		out[r.Partition] = append(out[r.Partition], one)
	}
	return out
}

// DeleteRecords removes the records of a partition below an offset, as retention does.
func (r *Remote) DeleteRecords(topic string, partition int32, below int64) {
	r.t.Helper()
	if err := r.sim.DeleteRecords(topic, partition, below); err != nil {
		r.t.Fatal(err)
	}
}

// Recreate deletes a topic and creates it again.
func (r *Remote) Recreate(topic string, partitions int32) {
	r.t.Helper()
	if err := errors.Join(r.sim.DeleteTopic(topic), r.sim.CreateTopic(topic, partitions, nil)); err != nil {
		r.t.Fatal(err)
	}
	r.cl.Close() // a client does not adopt the new topic
	r.cl = r.client()
	for id, cl := range r.txns {
		cl.Close()
		delete(r.txns, id)
	}
}

// MoveLeaders gives the partitions other leaders.
func (r *Remote) MoveLeaders() { r.sim.ShufflePartitionLeaders() }

// Damage makes the batches that contain text undecodable; see simkafka. Empty: none.
func (r *Remote) Damage(text string) { r.sim.Damage(text) }

// Replaces makes the cluster that of another one whose brokers have lost records of its topics: the
// topics have the ids of those of the other one. Call it before the first client of a process.
func (r *Remote) Replaces(other *Remote, topics ...string) {
	for _, topic := range topics {
		r.sim.TakeID(topic, other.sim.TopicInfo(topic).TopicID)
	}
}

// Lost makes the brokers answer, as after the election of a leader that lacked records, that the
// leader epochs of a partition up to the present one end at an offset. The leaders move, so that
// records that are produced later are of another epoch.
func (r *Remote) Lost(topic string, partition int32, from int64) {
	epoch := r.sim.PartitionInfo(topic, partition).Epoch
	r.sim.EndEpochs(topic, partition, simkafka.EpochEnd{UpTo: epoch, Epoch: epoch, End: from})
	r.sim.ShufflePartitionLeaders()
}

// Deny makes the brokers refuse to describe a topic, as for a user without the right, until allow
// is called.
func (r *Remote) Deny(topic string) (allow func()) {
	f := r.sim.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
	return f.Remove
}
