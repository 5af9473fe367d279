package topics

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
)

// Setting is a configuration entry of an existing topic that has another value than is wanted.
type Setting struct {
	Name    string
	Current string
	Want    string
}

// Describe returns the effective configuration of each topic, by the names of the entries.
func Describe(ctx context.Context, adm *kadm.Client, topics []string) (map[string]map[string]string, error) {
	got, err := adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("read topic configurations: %w", kafka.NameDenied(err, "DescribeConfigs", topics, func(topic string) error {
			_, err := adm.DescribeTopicConfigs(ctx, topic)
			return err
		}))
	}
	out := map[string]map[string]string{}
	for _, rc := range got {
		if rc.Err != nil {
			return nil, fmt.Errorf("read the configuration of topic %s: %w %s", rc.Name, rc.Err, rc.ErrMessage)
		}
		out[rc.Name] = map[string]string{}
		for _, c := range rc.Configs {
			out[rc.Name][c.Key] = c.MaybeValue()
		}
	}
	return out, nil
}

// Differing compares the configuration of a topic with the wanted entries. It ignores entries that
// the broker does not know. The result is in the order of names.
func Differing(configs, want map[string]string) (list []Setting) {
	for name, value := range want {
		if current, known := configs[name]; known && !same(current, value) {
			list = append(list, Setting{name, current, value})
		}
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Deletes reports whether Kafka deletes the records of a topic with this configuration by their age
// or by the size of the topic, also those that are the last of their keys.
func Deletes(configs map[string]string) bool {
	return slices.Contains(list(configs["cleanup.policy"]), "delete") &&
		(configs["retention.ms"] != "-1" || configs["retention.bytes"] != "-1")
}

// CheckChangelog returns ErrTopics if a changelog with this configuration loses records.
func CheckChangelog(topic string, configs map[string]string) error {
	if !Deletes(configs) {
		return nil
	}
	return fmt.Errorf(
		"%w: changelog %s has cleanup.policy=%s, retention.ms=%s and retention.bytes=%s: Kafka deletes records that are the only copy of the state. Set cleanup.policy=compact, then start the process again; if records are older than the retention, parts of the state may be missing", ErrTopics, topic, configs["cleanup.policy"], configs["retention.ms"], configs["retention.bytes"])
}

// same compares values of a configuration entry: numbers by value, lists as sets.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA == nil && errB == nil {
		return x == y
	}
	return slices.Equal(list(a), list(b))
}

func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
