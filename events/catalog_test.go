package events

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// allTopics is what one Kafka of three datacentres holds.
func allTopics() []Topic {
	l := Layout{}
	return append(Catalog("eu-west-1", l), Copied("us-east-1", l), Copied("ap-south-1", l))
}

func TestCatalogNames(t *testing.T) {
	legal := regexp.MustCompile(`^[a-z0-9.-]{1,249}$`) // no underscore: with dots beside it, metric names collide
	seen := make(map[string]bool)
	for _, topic := range allTopics() {
		if !legal.MatchString(topic.Name) {
			t.Errorf("%q is no legal topic name", topic.Name)
		}
		if seen[topic.Name] {
			t.Errorf("%q stands there twice", topic.Name)
		}
		seen[topic.Name] = true
		if topic.Key == "" || topic.Doc == "" {
			t.Errorf("%s: key %q, doc %q", topic.Name, topic.Key, topic.Doc)
		}
	}
	for _, name := range []string{
		"ads.events", "ads.adjustments", "spend.by.eu-west-1", "spend.health", "spendcounter.dlq",
		"ads.events.from.us-east-1", "ads.events.from.ap-south-1",
	} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
		delete(seen, name)
	}
	if len(seen) != 0 {
		t.Errorf("also there: %v", seen)
	}
}

func TestCatalogSettings(t *testing.T) {
	for _, topic := range allTopics() {
		if topic.Partitions != DefaultShards {
			t.Errorf("%s has %d partitions: the counter's inputs and outputs go by shard", topic.Name, topic.Partitions)
		}
		s := topic.Settings()
		switch topic.Cleanup {
		case CleanupDelete:
			if topic.Retention < day || s["retention.ms"] != strconv.FormatInt(topic.Retention.Milliseconds(), 10) {
				t.Errorf("%s: retention %v, %v", topic.Name, topic.Retention, s)
			}
		case CleanupCompact:
			ratio, err := strconv.ParseFloat(s["min.cleanable.dirty.ratio"], 64)
			if topic.Retention != 0 || s["retention.ms"] != "" || err != nil || ratio <= 0 || ratio > 0.5 ||
				s["segment.bytes"] == "" || s["segment.ms"] == "" || s["delete.retention.ms"] == "" {
				t.Errorf("%s: %v %v", topic.Name, topic.Retention, s)
			}
		default:
			t.Errorf("%s: cleanup %q", topic.Name, topic.Cleanup)
		}
		if s["cleanup.policy"] != topic.Cleanup || len(s) < len(topic.Config)+1 {
			t.Errorf("%s: %v", topic.Name, s)
		}
		s["cleanup.policy"] = "changed"
		if maps.Equal(s, topic.Settings()) || topic.Config["cleanup.policy"] != "" {
			t.Errorf("%s: Settings shares its map", topic.Name)
		}
	}
}

func TestCatalogRules(t *testing.T) {
	by := make(map[string]map[string]string)
	for _, topic := range allTopics() {
		by[topic.Name] = topic.Settings()
	}
	size := func(topic string) int {
		n, err := strconv.Atoi(by[topic]["max.message.bytes"])
		if err != nil {
			t.Fatalf("%s: %v", topic, err)
		}
		return n
	}
	const headers = 64 << 10
	for _, in := range []string{EventsTopic, AdjustmentsTopic} {
		for _, out := range []string{SpendDLQTopic, FromTopic("us-east-1")} {
			if size(out) < size(in)+headers {
				t.Errorf("a record of %s does not fit %s with its headers", in, out)
			}
		}
		if by[in]["message.timestamp.type"] != "LogAppendTime" {
			t.Errorf("%s: clients stamp the time", in)
		}
	}
	if by[FromTopic("us-east-1")]["message.timestamp.type"] != "CreateTime" {
		t.Error("copies lose the timestamp of their origin")
	}
	week := strconv.FormatInt((7 * 24 * time.Hour).Milliseconds(), 10)
	for _, topic := range []string{SpendTopic("eu-west-1"), SpendDLQTopic} {
		if by[topic]["delete.retention.ms"] != week {
			t.Errorf("%s: tombstones stay %s ms", topic, by[topic]["delete.retention.ms"])
		}
	}
}

func TestValidateDC(t *testing.T) {
	for _, dc := range []string{"a", "dc1", "eu-west-1", "us-gov-east-1", "local", strings.Repeat("x", 32)} {
		if err := ValidateDC(dc); err != nil {
			t.Error(err)
		}
	}
	for dc, why := range map[string]string{
		"": "empty", "EU": "other characters", "eu_west": "other characters", "eu.west": "other characters",
		"eu west": "other characters", "zürich": "other characters", "a\xff": "other characters", "1a": "begin", "-a": "begin", "a-": "dash",
		strings.Repeat("x", 33): "longer",
	} {
		if err := ValidateDC(dc); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want an error with %q", dc, err, why)
		}
	}
}

// Two valid datacentres never share a topic, and no topic of one is another's.
func TestTopicNamesOfDatacentresRandom(t *testing.T) {
	dc := rapid.StringMatching(`[a-z]([a-z0-9-]{0,30}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := dc.Draw(t, "a"), dc.Draw(t, "b")
		if ValidateDC(a) != nil || ValidateDC(b) != nil {
			t.Fatalf("%q or %q is refused", a, b)
		}
		if (SpendTopic(a) == SpendTopic(b)) != (a == b) || (FromTopic(a) == FromTopic(b)) != (a == b) || SpendTopic(a) == FromTopic(b) {
			t.Fatalf("%q and %q share a topic", a, b)
		}
		for _, topic := range Catalog(a, Layout{}) {
			if topic.Name == FromTopic(b) {
				t.Fatalf("%s of %q is what is copied from %q", topic.Name, a, b)
			}
		}
	})
}
