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
func (w *Harness) Produce(topic string, partition int32, key string, values ...string) {
	w.t.Helper()
	rs := make([]*kgo.Record, 0, len(values))
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(v)})
	}
	w.Send(rs...)
}

// Send writes records with whatever they have: headers, timestamps, no value.
func (w *Harness) Send(rs ...*kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		w.t.Fatalf("produce: %v", err)
	}
}

// FailRequests fails the next n requests of a kind, of whomever, with err. hits says how many it has failed so far. What it cannot
// select, such as one topic or the requests of one transactional id, Cluster.Fault can.
func (w *Harness) FailRequests(kind kmsg.Key, err *kerr.Error, n int) (hits func() int) {
	return w.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kind}, Err: err, Count: n}).Hits
}

// LoseAnswers loses the answers to the next n requests of a kind, of whomever: the broker does its work, the client never
// hears of it. kmsg.EndTxn leaves the outcome of a commit unknown.
func (w *Harness) LoseAnswers(kind kmsg.Key, n int) { w.sim.LoseAnswers(kind, n) }

// LostAnswers is how many answers were lost so far.
func (w *Harness) LostAnswers() int { return w.sim.Lost() }

// MoveLeaders gives every partition another leader.
func (w *Harness) MoveLeaders() { w.Cluster.ShufflePartitionLeaders() }

// MoveCoordinators gives groups and transactions other coordinators.
func (w *Harness) MoveCoordinators() { w.Cluster.RehashCoordinators() }

// DeleteRecords removes the records of a partition that are below an offset, as retention does.
func (w *Harness) DeleteRecords(topic string, partition int32, below int64) {
	w.t.Helper()
	if err := w.Cluster.DeleteRecords(topic, partition, below); err != nil {
		w.t.Fatalf("delete the records of %s[%d] below %d: %v", topic, partition, below, err)
	}
}

// Link is a way to the brokers of its own, and what cuts it for good: for clients that are no Process.
func (w *Harness) Link() (k kafka.Cluster, cut func()) {
	l := w.sim.Link()
	return kafka.Cluster{Brokers: w.sim.ListenAddrs(), Options: l.Options()}, l.Cut
}
