package kafkaadmin

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestLag(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(2, "in", "adj"))
	rec := func(p int32) *kgo.Record { return &kgo.Record{Topic: "in", Partition: p, Value: []byte("v")} }
	produce(t, k, "tx", rec(0), rec(0), rec(0)) // offsets 0 to 2 and a marker at 3
	produce(t, k, "", rec(1), rec(1), rec(1), rec(1))
	open := client(t, k, kgo.TransactionalID("open")) // an open transaction at offset 4 of partition 0
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := open.ProduceSync(t.Context(), rec(0)).FirstErr(); err != nil {
		t.Fatal(err)
	}

	rows, err := Lag(t.Context(), k, "g", []string{"in", "adj"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(i int, want PartitionLag) {
		t.Helper()
		got := rows[i]
		if got.Lag == 0 && got.LagSeconds != 0 || got.Lag > 0 && (got.LagSeconds <= 0 || got.LagSeconds > 60) {
			t.Errorf("row %d: %d records in %g s", i, got.Lag, got.LagSeconds)
		}
		got.Member, got.Instance, got.Host, got.LagSeconds = "", "", "", 0
		if got != want {
			t.Errorf("row %d:\n got %+v\nwant %+v", i, got, want)
		}
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	check(0, PartitionLag{Topic: "in", Partition: 0, Committed: -1, LastStable: 4, HighWatermark: 5, Lag: 4, State: "Dead"})
	check(1, PartitionLag{Topic: "in", Partition: 1, Committed: -1, LastStable: 4, HighWatermark: 4, Lag: 4, State: "Dead"})
	check(3, PartitionLag{Topic: "adj", Partition: 1, Committed: -1, State: "Dead"})

	adm := kadm.NewClient(client(t, k))
	at := kadm.Offsets{}
	at.AddOffset("in", 0, 4, -1) // past the marker
	at.AddOffset("in", 1, 1, -1)
	if err := adm.CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteRecords("in", 1, 3); err != nil { // as retention does
		t.Fatal(err)
	}
	member := client(t, k, kgo.ConsumerGroup("g"), kgo.InstanceID("spendcounter-host-0"), kgo.ConsumeTopics("in", "adj"))
	if _, err := c.WaitGroupStable(t.Context(), "g", 1); err != nil {
		t.Fatal(err)
	}
	if rows, err = Lag(t.Context(), k, "g", []string{"in", "adj"}); err != nil {
		t.Fatal(err)
	}
	check(0, PartitionLag{Topic: "in", Partition: 0, Committed: 4, LastStable: 4, HighWatermark: 5, State: "Stable"})
	check(1, PartitionLag{Topic: "in", Partition: 1, Committed: 1, Start: 3, LastStable: 4, HighWatermark: 4, Lag: 1, Lost: 2, State: "Stable"})
	for i, r := range rows {
		if r.Instance != "spendcounter-host-0" || r.Member == "" || r.Host == "" {
			t.Errorf("row %d has no owner: %+v", i, r)
		}
	}
	member.Close()
	if _, err := Lag(t.Context(), k, "g", []string{"nowhere"}); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("lag of a topic that does not exist: %v", err)
	}
}

// TestLagSeconds: the age is that of the record at the group's position, even if that is behind
// aborted records, in the middle of a batch, or in a batch that is larger than a fetch.
func TestLagSeconds(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(5, "in"))
	rec := func(p int32, age time.Duration, size int) *kgo.Record {
		return &kgo.Record{Topic: "in", Partition: p, Value: make([]byte, size), Timestamp: time.Now().Add(-age)}
	}
	produce(t, k, "", rec(0, 3*time.Hour, 1), rec(0, 2*time.Hour, 1), rec(0, time.Hour, 1))
	produce(t, k, "", rec(1, 5*time.Hour, 300_000))
	abort(t, k, rec(2, 9*time.Hour, 1), rec(3, 9*time.Hour, 1))
	produce(t, k, "", rec(2, 4*time.Hour, 1))
	at := kadm.Offsets{}
	at.AddOffset("in", 0, 1, -1)
	if err := kadm.NewClient(client(t, k)).CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	read := func() []PartitionLag {
		t.Helper()
		rows, err := Lag(t.Context(), k, "g", []string{"in"})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := read()
	for i, hours := range []float64{2, 5, 4, 0, 0} { // partition 3 has aborted records only, partition 4 has none
		if got := rows[i].LagSeconds; got < 3600*hours || got > 3600*hours+60 || hours == 0 && got != 0 {
			t.Errorf("partition %d is %g s behind, want %g hours (%+v)", i, got, hours, rows[i])
		}
	}
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		f, ok := req.(*kmsg.FetchRequest)
		if !ok || f.Topics[0].Partitions[0].Partition != 1 {
			return nil, nil, false
		}
		resp, ok := f.ResponseKind().(*kmsg.FetchResponse)
		if !ok {
			return nil, nil, false
		}
		resp.ErrorCode = kerr.KafkaStorageError.Code
		return resp, nil, true
	})
	if rows = read(); rows[1].LagSeconds != -1 || rows[0].LagSeconds < 7200 {
		t.Errorf("partition 1 cannot be read: %g s and %g s", rows[1].LagSeconds, rows[0].LagSeconds)
	}
}
