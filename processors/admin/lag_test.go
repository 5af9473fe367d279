package admin

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestLag(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(2, "in", "adj"))
	rec := func(p int32) *kgo.Record { return &kgo.Record{Topic: "in", Partition: p, Value: []byte("v")} }
	produce(t, k, "tx", rec(0), rec(0), rec(0)) // offsets 0..2 and a marker at 3
	produce(t, k, "", rec(1), rec(1), rec(1), rec(1))
	open := client(t, k, kgo.TransactionalID("open")) // a transaction that is not decided: offset 4 of partition 0
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
		got.Member, got.Instance, got.Host = "", "", ""
		if got != want {
			t.Errorf("row %d:\n got %+v\nwant %+v", i, got, want)
		}
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	check(0, PartitionLag{Topic: "in", Partition: 0, Committed: -1, Stable: 4, High: 5, Lag: 4, State: "Dead"})
	check(1, PartitionLag{Topic: "in", Partition: 1, Committed: -1, Stable: 4, High: 4, Lag: 4, State: "Dead"})
	check(3, PartitionLag{Topic: "adj", Partition: 1, Committed: -1, State: "Dead"})

	adm := kadm.NewClient(client(t, k))
	at := kadm.Offsets{}
	at.AddOffset("in", 0, 4, -1) // past the marker
	at.AddOffset("in", 1, 1, -1)
	if err := adm.CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteRecords("in", 1, 3); err != nil { // what retention does
		t.Fatal(err)
	}
	member := client(t, k, kgo.ConsumerGroup("g"), kgo.InstanceID("spendcounter-host-0"), kgo.ConsumeTopics("in", "adj"))
	if _, err := c.WaitGroupStable(t.Context(), "g", 1); err != nil {
		t.Fatal(err)
	}
	if rows, err = Lag(t.Context(), k, "g", []string{"in", "adj"}); err != nil {
		t.Fatal(err)
	}
	check(0, PartitionLag{Topic: "in", Partition: 0, Committed: 4, Stable: 4, High: 5, State: "Stable"})
	check(1, PartitionLag{Topic: "in", Partition: 1, Committed: 1, Start: 3, Stable: 4, High: 4, Lag: 1, Lost: 2, State: "Stable"})
	for i, r := range rows {
		if r.Instance != "spendcounter-host-0" || r.Member == "" || r.Host == "" {
			t.Errorf("row %d has no owner: %+v", i, r)
		}
	}
	member.Close()
	if _, err := Lag(t.Context(), k, "g", []string{"nowhere"}); err == nil {
		t.Error("a topic that does not exist has no lag")
	}
}
