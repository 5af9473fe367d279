package kafkaadmin

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// TestReplicas: new topics have three replicas, of which two are in sync, where there are as many
// brokers, whatever the default of the brokers is.
func TestReplicas(t *testing.T) {
	for what, x := range map[string]struct {
		brokers int
		o       TopicOptions
		want    string // replicas and min.insync.replicas
	}{
		"one broker":           {brokers: 1, want: "1 1"},
		"two brokers":          {brokers: 2, want: "2 2"},
		"three brokers":        {brokers: 3, want: "3 2"},
		"four brokers":         {brokers: 4, want: "3 2"},
		"one replica":          {brokers: 3, o: TopicOptions{ReplicationFactor: 1}, want: "1 1"},
		"min in sync alone":    {brokers: 3, o: TopicOptions{MinInsync: 3}, want: "3 3"},
		"too few for min sync": {brokers: 1, o: TopicOptions{MinInsync: 2}, want: "1 1"},
		"both":                 {brokers: 4, o: TopicOptions{ReplicationFactor: 4, MinInsync: 3}, want: "4 3"},
	} {
		_, k := fake(t, kfake.NumBrokers(x.brokers), kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
		left, err := EnsureTopics(t.Context(), k, chain(1), x.o)
		if err != nil {
			t.Fatal(err)
		}
		warned := len(left) == 2 && left[0].Topic == "split.changelog" && strings.Contains(left[0].String(), "one replica of each partition, and the cluster has 3 brokers")
		if warn := what == "one replica"; warn != warned || !warn && len(left) > 0 {
			t.Errorf("%s: warnings %v", what, left)
		}
		adm := kadm.NewClient(client(t, k))
		have, err := adm.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range []string{"lines", "words", "count.changelog", "count.dlq"} {
			configs, err := topics.Describe(t.Context(), adm, []string{topic})
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.Itoa(have[topic].Partitions.NumReplicas()) + " " + configs[topic]["min.insync.replicas"]; got != x.want {
				t.Errorf("%s: topic %s has %s, want %s", what, topic, got, x.want)
			}
		}
	}
}

// TestRefusedOptions: options that no topic can have are errors before a broker is asked.
func TestRefusedOptions(t *testing.T) {
	for want, o := range map[string]TopicOptions{
		"MinInsync 2 is greater than ReplicationFactor 1, so that no record could be written": {ReplicationFactor: 1, MinInsync: 2},
		"ReplicationFactor 65537 and MinInsync 0: use numbers from 1 to 32767":                {ReplicationFactor: 1<<16 + 1},
		"ReplicationFactor -1 and MinInsync 0":                                                {ReplicationFactor: -1},
		"ReplicationFactor 0 and MinInsync 65538":                                             {MinInsync: 1<<16 + 2},
		"ReplicationFactor 3 and MinInsync -2":                                                {ReplicationFactor: 3, MinInsync: -2},
		"TopicOptions.Replace has topic \"coutns\", which no processor reads or writes: remove it, or correct its name. Their topics are count.changelog, count.dlq, counts,": {
			Replace: []stream.Topic{stream.DataTopic("coutns", 1, time.Hour)},
		},
		"TopicOptions.Replace has topic \"counts\" twice":  {Replace: []stream.Topic{stream.DataTopic("counts", 1, 0), stream.DataTopic("counts", 2, 0)}},
		"by default, -1 partitions and a retention of 0s":  {Partitions: -1},
		"by default, 0 partitions and a retention of -2ns": {Retention: -2},
		"counts, -3 partitions and a retention of 0s":      {Replace: []stream.Topic{stream.DataTopic("counts", -3, 0)}},
		"counts, 0 partitions and a retention of -1h0m0s":  {Replace: []stream.Topic{stream.DataTopic("counts", 0, -time.Hour)}},
		"topic count.changelog of TopicOptions.Replace is a changelog or a dead-letter topic with cleanup.policy=delete: Kafka would delete records": {
			Replace: []stream.Topic{stream.DataTopic("count.changelog", 0, time.Hour)},
		},
		"topic split.dlq of TopicOptions.Replace is a changelog or a dead-letter topic with cleanup.policy=compact,delete": {
			Replace: []stream.Topic{{Name: "split.dlq", Cleanup: stream.CleanupCompact, Config: map[string]string{"cleanup.policy": "compact,delete"}}},
		},
	} {
		if _, err := DescribeTopics(chain(0), o); !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDescribedChangelog: the settings of a changelog are added to its description.
func TestDescribedChangelog(t *testing.T) {
	list, err := DescribeTopics(chain(0), TopicOptions{Replace: []stream.Topic{
		{Name: "count.changelog", Cleanup: stream.CleanupCompact, Config: map[string]string{"segment.bytes": "1048576"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(t stream.Topic) bool { return t.Name == "count.changelog" })
	want := stream.ChangelogTopic("count.changelog", 0).Settings()
	want["segment.bytes"] = "1048576"
	if got := list[i].Settings(); !maps.Equal(got, want) {
		t.Errorf("settings %v, want %v", got, want)
	}
}

// TestDescribedPartitions: an existing topic with another number of partitions than its description
// stays as it is, and is reported.
func TestDescribedPartitions(t *testing.T) {
	_, k := fake(t)
	if _, err := kadm.NewClient(client(t, k)).CreateTopic(t.Context(), 4, 1, nil, "counts"); err != nil {
		t.Fatal(err)
	}
	left, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{Replace: []stream.Topic{stream.DataTopic("counts", 1, 0), stream.DataTopic("words", 2, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "leave topic counts: it has 4 partitions, and its description in TopicOptions.Replace states 1"; len(left) != 1 || !strings.HasPrefix(left[0].String(), want) {
		t.Errorf("%v, want %s", left, want)
	}
}

// TestRetention: Kafka deletes no record of a topic that one processor writes and another reads,
// unless its description states a retention.
func TestRetention(t *testing.T) {
	for _, x := range []struct {
		o    TopicOptions
		want string // retention.ms of lines, words, counts
	}{
		{TopicOptions{}, "604800000 -1 604800000"},
		{TopicOptions{Retention: time.Hour}, "3600000 -1 3600000"},
		{TopicOptions{Retention: stream.RetainAll}, "-1 -1 -1"},
		{TopicOptions{Replace: []stream.Topic{stream.DataTopic("words", 0, time.Hour)}}, "604800000 3600000 604800000"},
		{TopicOptions{Replace: []stream.Topic{stream.DataTopic("words", 8, 0), stream.DataTopic("lines", 8, 0)}}, "604800000 -1 604800000"},
		{TopicOptions{Replace: []stream.Topic{{Name: "counts", Cleanup: stream.CleanupCompact}}}, "604800000 -1 "},
	} {
		list, err := DescribeTopics(chain(0), x.o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"lines", "words", "counts"} {
			i := slices.IndexFunc(list, func(t stream.Topic) bool { return t.Name == name })
			got = append(got, list[i].Settings()["retention.ms"])
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%+v: %s, want %s", x.o, got, x.want)
		}
	}
}

// TestExistingChangelogs: a changelog from which Kafka deletes records is an error before anything
// is created. A client without the right to ask continues.
func TestExistingChangelogs(t *testing.T) {
	c, k := fake(t)
	adm := kadm.NewClient(client(t, k))
	if _, err := adm.CreateTopic(t.Context(), 2, 1, nil, "count.changelog"); err != nil {
		t.Fatal(err)
	}
	_, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{})
	if !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "changelog count.changelog has cleanup.policy=delete") {
		t.Error(err)
	}
	if have, err := adm.ListTopics(kafka.Uncached(t.Context())); err != nil || len(have) != 1 {
		t.Errorf("topics %v, %v", have.Names(), err)
	}
	c.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		res := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			res.Resources = append(res.Resources, kmsg.DescribeConfigsResponseResource{
				ResourceType: r.ResourceType, ResourceName: r.ResourceName, ErrorCode: kerr.TopicAuthorizationFailed.Code,
			})
		}
		return res, nil, true
	})
	if _, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{}); err != nil {
		t.Error(err)
	}
}

// TestDeletedChangelog: a changelog of a group with offsets is not created: the state is lost.
func TestDeletedChangelog(t *testing.T) {
	_, k := fake(t)
	if _, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	adm := kadm.NewClient(client(t, k))
	offsets := kadm.Offsets{}
	offsets.AddOffset("words", 0, 7, -1)
	if err := adm.CommitAllOffsets(t.Context(), "count", offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{Partitions: 1}); err != nil {
		t.Errorf("with its changelog: %v", err)
	}
	if _, err := adm.DeleteTopics(t.Context(), "count.changelog", "split.dlq"); err != nil {
		t.Fatal(err)
	}
	_, err := EnsureTopics(t.Context(), k, chain(0), TopicOptions{Partitions: 1})
	if want := "changelog count.changelog does not exist, and group count has committed offsets"; !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if have, err := adm.ListTopics(kafka.Uncached(t.Context())); err != nil || have.Has("count.changelog") || have.Has("split.dlq") {
		t.Errorf("topics %v, %v", have.Names(), err)
	}
}
