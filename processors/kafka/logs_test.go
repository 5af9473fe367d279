package kafka

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDescribeLogs: the end is that of committed records, a topic that does not exist has an error
// of its own, and only the partitions of a broker that is away have no offsets.
func TestDescribeLogs(t *testing.T) {
	c, k := fakeKafka(t, "log", 2, kfake.NumBrokers(2))
	for n := range int32(2) {
		if err := c.MoveTopicPartition("log", n, n); err != nil {
			t.Fatal(err)
		}
	}
	cl, err := k.Client(kgo.TransactionalID("open"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	produce := func(end kgo.TransactionEndTry, ps ...int32) {
		t.Helper()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, n := range ps {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Partition: n}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if end {
			if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
		}
	}
	produce(kgo.TryCommit, 0, 0, 1)
	produce(kgo.TryAbort, 1) // stays open
	adm := kadm.NewClient(cl)
	if _, err := adm.DeleteRecords(t.Context(), kadm.Offsets{"log": {0: {Topic: "log", At: 1}}}); err != nil {
		t.Fatal(err)
	}

	logs, err := DescribeLogs(t.Context(), adm, "log", "none")
	if err != nil {
		t.Fatal(err)
	}
	log := logs["log"]
	if want := (map[int32]PartitionLog{0: {Start: 1, End: 3, Leader: 0}, 1: {End: 2, Leader: 1}}); log.Err != nil || log.ID == (kadm.TopicID{}) || len(log.Partitions) != 2 ||
		log.Partitions[0] != want[0] || log.Partitions[1] != want[1] {
		t.Errorf("log: %+v", log)
	}
	if none := logs["none"]; len(logs) != 2 || !errors.Is(none.Err, kerr.UnknownTopicOrPartition) || len(none.Partitions) != 0 {
		t.Errorf("none: %+v", none)
	}

	denied := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "none", Err: kerr.TopicAuthorizationFailed, Count: -1})
	if logs, err = DescribeLogs(t.Context(), adm, "log", "none"); err != nil || logs["log"].Partitions[0] != (PartitionLog{Start: 1, End: 3}) ||
		!errors.Is(logs["none"].Err, kerr.TopicAuthorizationFailed) {
		t.Errorf("with a topic that may not be described: %+v, %v", logs, err)
	}
	denied.Remove()

	c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("the connection is cut"), c.CurrentNode() == 1
	})
	plain, err := k.Client(kgo.RequestRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if logs, err = DescribeLogs(t.Context(), kadm.NewClient(plain), "log"); err != nil {
		t.Fatal(err)
	}
	if p := logs["log"].Partitions; p[0] != (PartitionLog{Start: 1, End: 3}) || p[1].Err == nil {
		t.Errorf("with a broker that is away: %+v", p)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if logs, err := DescribeLogs(ctx, adm, "log"); err == nil || logs != nil {
		t.Errorf("without an answer: %+v, %v", logs, err)
	}
}
