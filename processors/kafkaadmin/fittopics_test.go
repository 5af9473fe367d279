package kafkaadmin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// chain is two processors with a topic between them.
func chain(partitions int32) []stream.Processor {
	return []stream.Processor{
		{App: "split", Inputs: []string{"lines"}, Outputs: stream.OutputTopics("words")},
		{App: "count", Inputs: []string{"words"}, Outputs: stream.OutputTopics("counts"), Partitions: partitions},
	}
}

// TestFitTopics: the numbers of partitions follow the existing topics and the processors, and what
// contradicts itself is refused with the topics and the remedy.
func TestFitTopics(t *testing.T) {
	for what, x := range map[string]struct {
		list []stream.Processor
		have map[string]int32
		o    TopicOptions
		want string // topics and partitions, or a part of the error
	}{
		"nothing exists":               {list: chain(0), want: "count.changelog 12, count.dlq 12, counts 12, lines 12, split.changelog 12, split.dlq 12, words 12"},
		"a number for all":             {list: chain(0), o: TopicOptions{Partitions: 3}, want: "count.changelog 3, count.dlq 3, counts 3, lines 3, split.changelog 3, split.dlq 3, words 3"},
		"the input exists":             {list: chain(0), have: map[string]int32{"lines": 5}, want: "count.changelog 12, count.dlq 12, counts 12, lines 5, split.changelog 5, split.dlq 5, words 12"},
		"an output follows its reader": {list: chain(6), want: "count.changelog 6, count.dlq 6, counts 6, lines 12, split.changelog 12, split.dlq 12, words 6"},
		"the changelog exists":         {list: chain(0), have: map[string]int32{"count.changelog": 8, "counts": 2}, want: "count.changelog 8, count.dlq 8, counts 2, lines 12, split.changelog 12, split.dlq 12, words 8"},
		"common inputs": {
			list: []stream.Processor{{App: "a", Inputs: []string{"x", "y"}}, {App: "b", Inputs: []string{"z"}}, {App: "c", Inputs: []string{"y", "z"}, Partitions: 7}},
			want: "a.changelog 7, a.dlq 7, b.changelog 7, b.dlq 7, c.changelog 7, c.dlq 7, x 7, y 7, z 7",
		},
		"a described output":                            {list: chain(0), o: TopicOptions{Replace: []stream.Topic{{Name: "counts", Partitions: 1, Cleanup: stream.CleanupCompact}}}, want: "count.changelog 12, count.dlq 12, counts 1, lines 12, split.changelog 12, split.dlq 12, words 12"},
		"added, for the state":                          {list: []stream.Processor{{App: "a", Inputs: []string{"x"}, Partitions: 4}}, have: map[string]int32{"x": 6}, want: "a.changelog 4, a.dlq 4, x 4"},
		"an output that its reader does not read whole": {list: chain(4), have: map[string]int32{"words": 8}, want: "processor count: words has 8 partitions, and count needs 4: they must be equal"},
		"too few partitions":                            {list: chain(4), have: map[string]int32{"words": 2}, want: "processor count: words has 2 partitions, and count needs 4"},
		"unequal topics":                                {list: chain(0), have: map[string]int32{"words": 2, "count.changelog": 4}, want: "processor count: words has 2 partitions, and count.changelog has 4: they must be equal"},
		"unequal processors": {
			list: []stream.Processor{{App: "a", Inputs: []string{"x"}, Partitions: 4}, {App: "b", Inputs: []string{"x"}, Partitions: 5}},
			want: "a needs 4 partitions and b needs 5, and both read the same topics: set Processor.Partitions to the same number",
		},
	} {
		f, err := newFit(x.list, x.o)
		if err != nil {
			t.Fatal(err)
		}
		f.have = kadm.TopicDetails{}
		for name, n := range x.have {
			detail := kadm.TopicDetail{Topic: name, Partitions: kadm.PartitionDetails{}}
			for part := range n {
				detail.Partitions[part] = kadm.PartitionDetail{Topic: name, Partition: part}
			}
			f.have[name] = detail
		}
		list, err := f.topics()
		var got []string
		for _, topic := range list {
			got = append(got, fmt.Sprint(topic.Name, " ", topic.Partitions))
		}
		slices.Sort(got)
		text := strings.Join(got, ", ")
		if err != nil {
			text = err.Error()
			if !errors.Is(err, processors.ErrTopics) {
				t.Errorf("%s: %v is not ErrTopics", what, err)
			}
		}
		if text != x.want && (err == nil || !strings.Contains(text, x.want)) {
			t.Errorf("%s:\n got %s\nwant %s", what, text, x.want)
		}
	}
}

// TestFitExistingTopics reads the numbers of a broker, and creates the rest as described.
func TestFitExistingTopics(t *testing.T) {
	_, k := fake(t)
	adm := kadm.NewClient(client(t, k))
	if _, err := adm.CreateTopic(t.Context(), 5, 1, nil, "lines"); err != nil {
		t.Fatal(err)
	}
	o := TopicOptions{Partitions: 2, Retention: time.Hour, Replace: []stream.Topic{{Name: "counts", Cleanup: stream.CleanupCompact}}}
	list, err := FitTopics(t.Context(), k, chain(0), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateMissing(t.Context(), k, list, Defaults{}); err != nil {
		t.Fatal(err)
	}
	have, err := adm.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]int{"lines": 5, "split.changelog": 5, "split.dlq": 5, "words": 2, "count.changelog": 2, "counts": 2} {
		if got := len(have[topic].Partitions); got != want {
			t.Errorf("%s has %d partitions, want %d", topic, got, want)
		}
	}
	configs, err := adm.DescribeTopicConfigs(t.Context(), "words", "counts", "count.changelog")
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]string{"words": "delete", "counts": "compact", "count.changelog": "compact"} {
		c, err := configs.On(topic, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range c.Configs {
			if entry.Key == "cleanup.policy" && entry.MaybeValue() != want {
				t.Errorf("%s has cleanup.policy %s, want %s", topic, entry.MaybeValue(), want)
			}
		}
	}
}
