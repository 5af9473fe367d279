package events

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/stream"
)

// allTopics returns the topics of the Kafka of one datacentre in a deployment of three.
func allTopics() []stream.Topic {
	l := Layout{}
	return slices.Concat(Catalog("eu-west-1", l), CopiedTopics("us-east-1", l), CopiedTopics("ap-south-1", l), MirrorCatalog(l), PushCatalog("us-east-1", "eu-west-1", l),
		PacingCatalog("eu-west-1", l), []stream.Topic{CopiedBudgets("eu-west-1", "us-east-1", l)}, JobsCatalog(l))
}

func TestCatalogNames(t *testing.T) {
	legal := regexp.MustCompile(`^[a-z0-9.-]{1,249}$`) // no underscore: with dots beside it, metric names collide
	seen := make(map[string]bool)
	for _, topic := range allTopics() {
		if !legal.MatchString(topic.Name) {
			t.Errorf("%q is not a legal topic name", topic.Name)
		}
		if seen[topic.Name] {
			t.Errorf("%q is in the catalog twice", topic.Name)
		}
		seen[topic.Name] = true
		if topic.Key == "" || topic.Doc == "" {
			t.Errorf("%s: key %q, doc %q", topic.Name, topic.Key, topic.Doc)
		}
	}
	for _, name := range []string{
		"ads.events", "ads.adjustments", "spend.by.eu-west-1", "spendcounter.dlq", "spend.audit",
		"ads.events.from.us-east-1", "ads.events.from.ap-south-1", "ads.adjustments.from.us-east-1", "ads.adjustments.from.ap-south-1",
		"mirror.state", "mirror.control", "mirror.dlq",
		"ads.budgets", "ads.insertions.sums", "ads.budgets.from.us-east-1", "pacing.by.eu-west-1", "pacing.alerts", "pacing.signals",
		"pacing.overrides", "pacing.dlq", "spend.billed",
		"spend.from.us-east-1", "push.us-east-1.eu-west-1.state", "push.us-east-1.eu-west-1.control", "push.us-east-1.eu-west-1.dlq",
		"jobs.submits", "jobs.changelog", "jobs.dlq", "jobs.alarms", "jobs.events",
	} {
		if !seen[name] {
			t.Errorf("the catalog lacks %s", name)
		}
		delete(seen, name)
	}
	if len(seen) != 0 {
		t.Errorf("the catalog also has %v", seen)
	}
}

func TestCatalogSettings(t *testing.T) {
	for _, topic := range allTopics() {
		if topic.Partitions != DefaultShards {
			t.Errorf("%s has %d partitions, want one for each shard", topic.Name, topic.Partitions)
		}
		s := topic.Settings()
		switch topic.Cleanup {
		case stream.CleanupDelete:
			if topic.Retention < day || s["retention.ms"] != strconv.FormatInt(topic.Retention.Milliseconds(), 10) {
				t.Errorf("%s: retention %v, %v", topic.Name, topic.Retention, s)
			}
		case stream.CleanupCompact:
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
			t.Errorf("%s: Settings returned a map that it shares", topic.Name)
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
	for _, in := range []string{EventsTopic, AdjustmentsTopic, BudgetsTopic} {
		for _, out := range []string{SpendDLQTopic, CopiedEventsTopic("us-east-1"), PacingDLQTopic, CopiedBudgetsTopic("us-east-1")} {
			if size(out) < size(in)+headers {
				t.Errorf("max.message.bytes: a record of %s with headers does not fit in %s", in, out)
			}
		}
		if by[in]["message.timestamp.type"] != "LogAppendTime" {
			t.Errorf("%s: clients stamp the time; want the broker", in)
		}
	}
	for _, copied := range []string{CopiedEventsTopic("us-east-1"), CopiedAdjustmentsTopic("us-east-1"), CopiedBudgetsTopic("us-east-1")} {
		if by[copied]["message.timestamp.type"] != "CreateTime" {
			t.Errorf("%s: copies do not keep the timestamp of the original record", copied)
		}
		for _, setting := range []string{"message.timestamp.after.max.ms", "message.timestamp.before.max.ms"} {
			if by[copied][setting] != "9223372036854775807" {
				t.Errorf("%s: %s is %q: the brokers may refuse the timestamp of an original record", copied, setting, by[copied][setting])
			}
		}
	}
	week := strconv.FormatInt((7 * 24 * time.Hour).Milliseconds(), 10)
	for _, topic := range []string{SpendTopic("eu-west-1"), SpendDLQTopic} {
		if by[topic]["delete.retention.ms"] != week {
			t.Errorf("%s: tombstones stay %s ms, want a week", topic, by[topic]["delete.retention.ms"])
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

// TestTopicNamesOfDatacentresRandom: two valid datacentres never have a topic in common.
func TestTopicNamesOfDatacentresRandom(t *testing.T) {
	dc := rapid.StringMatching(`[a-z]([a-z0-9-]{0,30}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := dc.Draw(t, "a"), dc.Draw(t, "b")
		if ValidateDC(a) != nil || ValidateDC(b) != nil {
			t.Fatalf("ValidateDC refuses %q or %q", a, b)
		}
		if (SpendTopic(a) == SpendTopic(b)) != (a == b) || (CopiedEventsTopic(a) == CopiedEventsTopic(b)) != (a == b) || SpendTopic(a) == CopiedEventsTopic(b) {
			t.Fatalf("%q and %q share a topic", a, b)
		}
		for _, topic := range Catalog(a, Layout{}) {
			if topic.Name == CopiedEventsTopic(b) {
				t.Fatalf("%s of %q is also the topic of events copied from %q", topic.Name, a, b)
			}
		}
	})
}
