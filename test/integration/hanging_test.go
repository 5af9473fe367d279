package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// TestHangingTransactions leaves transactions open that no coordinator knows, as brokers do when
// they lose markers: in the changelog, in the group's offsets, and among the dead letters. The next
// owner ends them. A committed transaction of the process's own, whose marker is missing in one
// partition, is committed there, too.
func TestHangingTransactions(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a")
	first := a.start()
	addr, _ := first.ready()
	l := startLoad(c, 3, 5_000, 20_000)
	first.folds(addr, 24)
	first.kill()

	own := c.lostProducer("spendcounter-" + a.name + "-0")
	own.add("spend.audit", 2)
	own.produce("spend.audit", 2)
	own.produce("spend.audit", 3) // without a marker at the end
	own.commitTransaction()
	h := c.lostProducer("spendcounter-gone-0")
	h.produce("spend.by.local", 3)
	h.produce("spendcounter.dlq", 5)
	h.commit("spendcounter", "ads.events", 7, 1)
	h.close()

	began := time.Now()
	again := a.start()
	addr, _ = again.ready()
	again.folds(addr, 24)
	t.Logf("all partitions run %s after the restart", time.Since(began))
	f.check(c, l.finish(), 0)
	testlimit.Within(t, "no transaction is open", func(ctx context.Context) error {
		return errors.Join(h.none(ctx, "spendcounter.dlq", 5), own.none(ctx, "spend.audit", 3))
	})
	for _, p := range []int32{2, 3} {
		if !c.hasCommitted("spend.audit", p, lostKey) {
			t.Errorf("spend.audit[%d] lacks the record of a committed transaction", p)
		}
	}
	again.alive()
}

// lostProducer is a transactional producer that writes without its coordinator.
type lostProducer struct {
	c     *cluster
	cl    *kgo.Client
	txn   string
	id    int64
	epoch int16
}

// lostProducer makes the brokers accept transactional writes without the coordinator, until close
// is called.
func (c *cluster) lostProducer(txn string) *lostProducer {
	c.t.Helper()
	c.verifyPartitions("false")
	v := kversion.Stable() // later versions add partitions to the transaction
	v.SetMaxKeyVersion(int16(kmsg.Produce), 11)
	v.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 4)
	v.SetMaxKeyVersion(int16(kmsg.AddPartitionsToTxn), 3)
	v.SetMaxKeyVersion(int16(kmsg.EndTxn), 4)
	p := &lostProducer{c: c, cl: c.client(kgo.MaxVersions(v)), txn: txn}
	testlimit.Within(c.t, "a producer id", func(ctx context.Context) error {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &txn, 10_000
		resp, err := req.RequestWith(ctx, p.cl)
		if err != nil {
			return err
		}
		p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	return p
}

func (p *lostProducer) close() { p.c.verifyPartitions("true") }

func (c *cluster) verifyPartitions(on string) {
	c.t.Helper()
	testlimit.Within(c.t, "partition verification "+on, func(ctx context.Context) error {
		res, err := c.adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "transaction.partition.verification.enable", Value: &on}})
		for _, r := range res {
			err = errors.Join(err, r.Err)
		}
		return err
	})
}

// add adds a partition to the transaction at the coordinator.
func (p *lostProducer) add(topic string, partition int32) {
	p.c.t.Helper()
	testlimit.Within(p.c.t, "add a partition", func(ctx context.Context) error {
		rt := kmsg.NewAddPartitionsToTxnRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{partition}
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.txn, p.id, p.epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{rt}
		resp, err := req.RequestWith(ctx, p.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	})
}

// commitTransaction commits the transaction: the partitions that were added get a marker.
func (p *lostProducer) commitTransaction() {
	p.c.t.Helper()
	testlimit.Within(p.c.t, "commit a transaction", func(ctx context.Context) error {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.txn, p.id, p.epoch, true
		resp, err := req.RequestWith(ctx, p.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
}

// hasCommitted reports whether a partition has a committed record with a key.
func (c *cluster) hasCommitted(topic string, partition int32, key string) (found bool) {
	c.t.Helper()
	err := kafkaadmin.ReadTopic(testlimit.Context(c.t), kafka.Cluster{Brokers: c.addrs()}, topic, time.Time{}, func(p int32, r stream.Record) error {
		found = found || p == partition && string(r.Key) == key
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// lostKey is the key of the records of a lostProducer.
const lostKey = "\x01uncommitted key"

// produce leaves a record in a transaction that never ends.
func (p *lostProducer) produce(topic string, partition int32) {
	p.c.t.Helper()
	rec := kmsg.Record{Key: []byte(lostKey), Value: []byte("uncommitted value")}
	body := rec.AppendTo(nil)[1:] // without the length field, which is 0
	rec.Length = int32(len(body))
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: 1 << 4, ProducerID: p.id, ProducerEpoch: p.epoch,
		FirstTimestamp: time.Now().UnixMilli(), MaxTimestamp: time.Now().UnixMilli(), NumRecords: 1, Records: rec.AppendTo(nil),
	}
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	testlimit.Within(p.c.t, "produce without the coordinator", func(ctx context.Context) error {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = partition, raw
		rt := kmsg.NewProduceRequestTopic()
		rt.Topic, rt.Partitions = topic, []kmsg.ProduceRequestTopicPartition{part}
		req := kmsg.NewPtrProduceRequest()
		req.TransactionID, req.Acks, req.TimeoutMillis, req.Topics = &p.txn, -1, 5000, []kmsg.ProduceRequestTopic{rt}
		resp, err := req.RequestWith(ctx, p.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	})
}

// commit leaves an offset of the group pending.
func (p *lostProducer) commit(group, topic string, partition int32, at int64) {
	p.c.t.Helper()
	testlimit.Within(p.c.t, "commit without the coordinator", func(ctx context.Context) error {
		part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset = partition, at
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.Topic, rt.Partitions = topic, []kmsg.TxnOffsetCommitRequestTopicPartition{part}
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = p.txn, group, p.id, p.epoch
		req.Generation, req.Topics = -1, []kmsg.TxnOffsetCommitRequestTopic{rt}
		resp, err := req.RequestWith(ctx, p.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	})
}

// none returns an error if the producer's transaction is open in a partition.
func (p *lostProducer) none(ctx context.Context, topic string, partition int32) error {
	var open error
	topics := kadm.TopicsSet{}
	topics.Add(topic, partition)
	got, err := p.c.adm.DescribeProducers(ctx, topics)
	got.EachProducer(func(d kadm.DescribedProducer) {
		if d.ProducerID == p.id && d.CurrentTxnStartOffset >= 0 {
			open = errors.New("open since offset " + time.UnixMilli(d.LastTimestamp).String())
		}
	})
	return errors.Join(err, open)
}
