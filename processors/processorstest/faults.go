package processorstest

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
)

// Produce writes values under one key to a partition.
func (h *Harness) Produce(topic string, partition int32, key string, values ...string) {
	h.t.Helper()
	rs := make([]*kgo.Record, 0, len(values))
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(v)})
	}
	h.Send(rs...)
}

// Send writes records as they are: with headers, with timestamps, without a value.
func (h *Harness) Send(rs ...*kgo.Record) {
	h.t.Helper()
	if err := h.client.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		h.t.Fatalf("produce: %v", err)
	}
}

// OpenTransaction writes a record in a transaction of another producer, which stays open until
// commit is called. Commit it before the end of the run.
func (h *Harness) OpenTransaction(topic string, partition int32, key, value string) (commit func()) {
	h.t.Helper()
	cl := h.Client(kgo.TransactionalID("open "+topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	err := cl.BeginTransaction()
	if err == nil {
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(value)}
		err = cl.ProduceSync(context.Background(), r).FirstErr()
	}
	if err != nil {
		h.t.Fatalf("open a transaction: %v", err)
	}
	return func() {
		h.t.Helper()
		if err := cl.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			h.t.Fatalf("commit: %v", err)
		}
	}
}

// RefuseWrites makes the brokers refuse what is produced to a topic, as without enough in-sync
// replicas, until allow is called.
func (h *Harness) RefuseWrites(topic string) (allow func()) {
	f := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicas, Count: -1})
	return func() { f.Remove() }
}

// FailRequests fails the next n requests of a kind with err, whichever client sends them. hits
// returns how many have failed so far. Cluster.Fault can select requests by topic or by
// transactional id.
func (h *Harness) FailRequests(kind kmsg.Key, err *kerr.Error, n int) (hits func() int) {
	return h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kind}, Err: err, Count: n}).Hits
}

// LoseAnswers loses the answers to the next n requests of a kind, whichever client sends them: the
// broker carries out the request, and the client gets no answer. With kmsg.EndTxn the client does
// not learn the outcome of a commit. n = 0 ends it.
func (h *Harness) LoseAnswers(kind kmsg.Key, n int) { h.sim.LoseAnswers(kind, n) }

// LostAnswers returns how many answers were lost so far.
func (h *Harness) LostAnswers() int { return h.sim.Lost() }

// RefuseConnections makes the broker at an address of Cluster.ListenAddrs refuse new connections,
// as if its process had died. It remains the leader of its partitions. An empty address ends it.
func (h *Harness) RefuseConnections(addr string) { h.sim.RefuseConnections(addr) }

// Damage changes the first byte of text wherever an answer of the brokers has it, whichever client
// asks: a batch that has it uncompressed fails its checksum. An empty text ends the damage.
func (h *Harness) Damage(text string) { h.sim.Damage(text) }

// MoveLeaders gives every partition another leader.
func (h *Harness) MoveLeaders() { h.Cluster.ShufflePartitionLeaders() }

// MoveCoordinators gives groups and transactions other coordinators.
func (h *Harness) MoveCoordinators() { h.Cluster.RehashCoordinators() }

// DeleteRecords removes the records of a partition below an offset, as retention does.
func (h *Harness) DeleteRecords(topic string, partition int32, below int64) {
	h.t.Helper()
	if err := h.Cluster.DeleteRecords(topic, partition, below); err != nil {
		h.t.Fatalf("delete the records of %s[%d] below %d: %v", topic, partition, below, err)
	}
}

// Link returns a connection to the brokers for a client that is not a Process, and a function that
// cuts it for good.
func (h *Harness) Link() (k kafka.Cluster, cut func()) {
	l := h.sim.Link()
	return kafka.Cluster{Brokers: h.sim.ListenAddrs(), Options: l.Options()}, l.Cut
}
