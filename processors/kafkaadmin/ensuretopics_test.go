package kafkaadmin

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/topics"
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
	} {
		if _, err := newFit(chain(0), o); !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
