package kafkaadmin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/stream"
)

func TestPlanAndApplyTheCatalogue(t *testing.T) {
	_, k := fake(t)
	d := Defaults{ReplicationFactor: 3, MinInsync: 2}
	want := append(events.Catalog("local", events.Layout{}), events.CopiedTopics("far", events.Layout{})...)
	steps, err := PlanTopics(t.Context(), k, want, d)
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != len(want) {
		t.Fatalf("%d steps for %d topics", len(steps), len(want))
	}
	for i, s := range steps {
		if s.Kind != StepCreate || s.Topic != want[i].Name || s.Partitions != want[i].Partitions || s.ReplicationFactor != 3 {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if err := ApplySteps(t.Context(), k, steps); err != nil {
		t.Fatal(err)
	}
	if again, err := PlanTopics(t.Context(), k, want, d); err != nil || len(again) != 0 {
		t.Fatalf("a plan after apply: %v %v", again, err)
	}
	if err := ApplySteps(t.Context(), k, steps); err != nil { // another client created the topics first
		t.Fatalf("the same steps again: %v", err)
	}
	got, err := topics.Describe(t.Context(), kadm.NewClient(client(t, k)), []string{events.EventsTopic})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range d.settings(want[0]) {
		if got[events.EventsTopic][name] != v {
			t.Errorf("%s = %q, want %q", name, got[events.EventsTopic][name], v)
		}
	}
}

func TestPlanOfDifferences(t *testing.T) {
	_, k := fake(t)
	adm := kadm.NewClient(client(t, k))
	if _, err := adm.CreateTopic(t.Context(), 4, 1, map[string]*string{
		"cleanup.policy": kadm.StringPtr("compact,delete"), "retention.ms": kadm.StringPtr("1000"), "segment.ms": kadm.StringPtr("77"),
	}, "a"); err != nil {
		t.Fatal(err)
	}
	want := []stream.Topic{
		{Name: "a", Partitions: 6, Cleanup: "delete,compact", Retention: time.Hour, Config: map[string]string{"max.message.bytes": "1000012"}},
		{Name: "b", Partitions: 6, Cleanup: stream.CleanupCompact},
	}
	d := Defaults{ReplicationFactor: 2, MinInsync: 1}
	steps, err := PlanTopics(t.Context(), k, want, d)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, s.String())
	}
	// The order of a list does not matter. min.insync.replicas has the wanted value, and the plan
	// does not name segment.ms. The broker's default of max.message.bytes is another value, so it
	// is set.
	for i, part := range [][]string{
		{"leave topic a: it has 4 partitions and must have 6", "state", "if 4 is right, and nothing has been processed yet, set Topic.Partitions to that", "repartition"},
		{"leave topic a: it has 1 replicas", "kafka-reassign-partitions.sh"},
		{"change topic a: max.message.bytes from 1048588 to 1000012, retention.ms from 1000 to 3600000"},
		{"create topic b with 6 partitions, 2 replicas and cleanup.policy=compact, min.insync.replicas=1"},
	} {
		for _, p := range part {
			if i >= len(got) || !strings.Contains(got[i], p) {
				t.Fatalf("step %d lacks %q:\n%s", i, p, strings.Join(got, "\n"))
			}
		}
	}
	if len(got) != 4 {
		t.Fatalf("%d steps:\n%s", len(got), strings.Join(got, "\n"))
	}
	if err := ApplySteps(t.Context(), k, steps); !errors.Is(err, ErrConflict) {
		t.Fatalf("apply with conflicts: %v", err)
	}
	left, err := PlanTopics(t.Context(), k, want, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range left {
		if s.Kind != StepConflict {
			t.Errorf("left after apply: %s", s)
		}
	}
	configs, err := topics.Describe(t.Context(), adm, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if configs["a"]["segment.ms"] != "77" {
		t.Errorf("segment.ms, which the plan does not name, was changed to %q", configs["a"]["segment.ms"])
	}
}

// TestPlanOfAddedPartitions: the partitions of the state, which a process has written to, decide
// whether a topic or the configuration is wrong.
func TestPlanOfAddedPartitions(t *testing.T) {
	_, k := fake(t)
	adm := kadm.NewClient(client(t, k))
	for topic, n := range map[string]int32{"in": 8, "in2": 7, "in3": 4, "log": 8, "fresh": 8, "dlq": 6} {
		if _, err := adm.CreateTopic(t.Context(), n, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	for p := range int32(6) {
		produce(t, k, "", &kgo.Record{Topic: "log", Partition: p, Value: []byte("v")})
	}
	for _, c := range []struct {
		topic, changelog string
		partitions       int32
		want             string
	}{
		{"in", "log", 6, "partitions 6 and 7 of in were added, and are not read; set the producers back to 6 partitions, send the records"},
		{"in2", "log", 6, "partition 6 of in2 was added, and is not read; set the producers"},
		{"log", "log", 6, "partitions 6 and 7 of log were added"},
		{"log", "log", 5, "it has 8 partitions and must have 5, and the state has 6 partitions; set Topic.Partitions to 6"},
		{"in", "log", 4, "it has 8 partitions and must have 4, and the state has 6 partitions; set Topic.Partitions to 6"},
		{"in3", "log", 6, "it has 4 partitions and must have 6, as many as the state; add the missing ones"},
		{"dlq", "log", 8, "it has 6 partitions and must have 8, and the state has 6 partitions; set Topic.Partitions to 6"},
		{"in", "fresh", 6, "if 8 is right, and nothing has been processed yet, set Topic.Partitions to that"},
		{"in", "missing", 5, "if 8 is right, and nothing has been processed yet"},
		{"in", "", 5, "if 8 is right, and nothing has been processed yet"},
	} {
		steps, err := PlanTopics(t.Context(), k, []stream.Topic{{Name: c.topic, Changelog: c.changelog, Partitions: c.partitions, Cleanup: stream.CleanupDelete}}, Defaults{})
		if err != nil || len(steps) != 1 || !strings.Contains(steps[0].Reason, c.want) {
			t.Errorf("%+v: %+v, %v", c, steps, err)
		}
	}
}

func TestImpossibleReplication(t *testing.T) {
	_, k := fake(t)
	if _, err := PlanTopics(t.Context(), k, events.Catalog("local", events.Layout{}), Defaults{ReplicationFactor: 1, MinInsync: 2}); !errors.Is(err, ErrReplication) {
		t.Errorf("min.insync above the replication factor: %v", err)
	}
	steps, err := PlanTopics(t.Context(), k, events.Catalog("local", events.Layout{}), Defaults{ReplicationFactor: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := ApplySteps(t.Context(), k, steps); !errors.Is(err, ErrReplication) {
		t.Errorf("more replicas than brokers: %v", err)
	}
}

// TestCreateMissing creates the topics that do not exist, each once, without the right to read
// configurations.
func TestCreateMissing(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(3, "a"))
	c.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		t.Error("a configuration was asked for")
		return nil, nil, false
	})
	want := []stream.Topic{stream.DataTopic("a", 1, time.Hour), stream.DataTopic("b", 2, time.Hour), stream.DataTopic("b", 4, time.Hour)}
	if err := CreateMissing(t.Context(), k, want, Defaults{}); err != nil {
		t.Fatal(err)
	}
	have, err := kadm.NewClient(client(t, k)).ListTopics(t.Context())
	if err != nil || len(have["a"].Partitions) != 3 || len(have["b"].Partitions) != 2 {
		t.Errorf("topics %v, %v", have, err)
	}
	if err := CreateMissing(t.Context(), k, want, Defaults{ReplicationFactor: 1, MinInsync: 2}); !errors.Is(err, ErrReplication) {
		t.Error(err)
	}
}
