//go:build synctests

package processors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// alter changes settings of a topic.
func alter(t *testing.T, h *processorstest.Harness, topic string, settings ...string) {
	t.Helper()
	var changes []kadm.AlterConfig
	for i := 0; i < len(settings); i += 2 {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: settings[i], Value: &settings[i+1]})
	}
	got, err := kadm.NewClient(h.Client()).AlterTopicConfigs(t.Context(), changes, topic)
	if err == nil {
		_, err = got.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// comparing returns a configuration that compares the topics of the ledger, and what it logs.
func comparing() (processors.Config, *lockedBuffer) {
	var out lockedBuffer
	log := zerolog.New(&out).Level(zerolog.WarnLevel)
	return processors.Config{Workers: 1, Log: &log, MinInsync: 2, Topics: []stream.Topic{
		stream.DataTopic("in", 1, time.Hour), stream.DataTopic("out", 1, time.Hour), stream.ChangelogTopic("log", 1),
		stream.DeadLetterTopic(ledger.App+".dlq", 1), stream.DataTopic("of another application", 1, time.Hour),
	}}, &out
}

// TestTopicSettings: a process that has started reports each topic that has another cleanup policy
// or min.insync.replicas than it needs, once, and works on. It asks again while the brokers do not
// answer.
func TestTopicSettings(t *testing.T) {
	cfg, out := comparing()
	o := ledgerOptions(1)
	o.Config = cfg
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		for _, topic := range []string{"in", "out", "log", ledger.App + ".dlq"} {
			alter(t, h, topic, "min.insync.replicas", "2")
		}
		alter(t, h, "in", "cleanup.policy", "compact")
		alter(t, h, "out", "min.insync.replicas", "1")
		alter(t, h, "log", "cleanup.policy", "compact")
		h.FailRequests(kmsg.DescribeConfigs, kerr.TopicAuthorizationFailed, 1)
		h.Start("a")
		h.Produce("in", 0, "k", "1")
		time.Sleep(5 * time.Minute)
		h.CaughtUp()
		for _, want := range []string{
			`"topic":"in","setting":"cleanup.policy","is":"compact","want":"delete"`,
			`"topic":"out","setting":"min.insync.replicas","is":"1","want":"2"`,
			`"topic":"ledger.dlq","setting":"cleanup.policy","is":"delete","want":"compact"`,
		} {
			if n := out.count(want); n != 1 {
				t.Errorf("%d times in the log: %s", n, want)
			}
		}
		if n := out.count("topic_setting_differs"); n != 3 {
			t.Errorf("%d differences, want 3", n)
		}
	})
}

// TestTopicWithTwoPolicies: the settings of a topic are compared as it was created with them.
func TestTopicWithTwoPolicies(t *testing.T) {
	cfg, out := comparing()
	cfg.MinInsync = 0
	cfg.Topics = []stream.Topic{{Name: "out", Cleanup: stream.CleanupCompact, Config: map[string]string{"cleanup.policy": "compact,delete"}}}
	o := ledgerOptions(1)
	o.Config = cfg
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		alter(t, h, "out", "cleanup.policy", "compact,delete")
		alter(t, h, "log", "cleanup.policy", "compact")
		h.Start("a")
		time.Sleep(time.Minute)
		if n := out.count("topic_setting_differs"); n != 0 {
			t.Errorf("%d differences, want none", n)
		}
	})
}

// TestChangelogDeletes: a process ends whose changelog loses records by their age or by the size of
// the topic.
func TestChangelogDeletes(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		refused  bool
	}{
		{"the default of the brokers", []string{"cleanup.policy", "delete"}, true},
		{"both", []string{"cleanup.policy", "compact,delete"}, true},
		{"by size", []string{"cleanup.policy", "delete", "retention.ms", "-1", "retention.bytes", "1000000000"}, true},
		{"without limits", []string{"cleanup.policy", "delete", "retention.ms", "-1", "retention.bytes", "-1"}, false},
		{"compacted", []string{"cleanup.policy", "compact"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			runLedger(t, 1, func(t *testing.T, h *processorstest.Harness) {
				alter(t, h, "log", c.settings...)
				cfg, _ := comparing()
				p := h.StartWith("a", cfg, ledger.Processor("in"))
				time.Sleep(time.Minute)
				if p.Ended() != c.refused {
					t.Fatalf("the process has ended: %t", p.Ended())
				}
				if !c.refused {
					return
				}
				if err := p.Await(); !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "changelog log has cleanup.policy="+c.settings[1]) {
					t.Errorf("the process ended with %v", err)
				}
			})
		})
	}
}

// TestChangelogCheckedAlone: a changelog that loses records ends the process, although the settings
// of another topic cannot be read. If its own cannot be read, that is a warning.
func TestChangelogCheckedAlone(t *testing.T) {
	for topic, ends := range map[string]bool{"out": true, "log": false} {
		t.Run(topic, func(t *testing.T) {
			cfg, out := comparing()
			o := ledgerOptions(1)
			o.Config = cfg
			processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
				alter(t, h, "log", "cleanup.policy", "delete")
				fault := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
				p := h.Start("a")
				time.Sleep(20 * time.Second)
				if p.Ended() != ends || out.count("settings_not_compared") != 0 {
					t.Errorf("the process has ended: %t", p.Ended())
				}
				if !ends {
					time.Sleep(time.Minute)
					if n := out.count("settings_not_compared"); n == 0 {
						t.Error("no warning after the second failure")
					}
					fault.Remove()
					time.Sleep(time.Minute)
				}
				if !p.Ended() {
					t.Fatal("the process runs with a changelog that loses records")
				}
				if err := p.Await(); !errors.Is(err, processors.ErrTopics) {
					t.Errorf("the process ended with %v", err)
				}
			})
		})
	}
}
