package topics

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// TestMissingTopics: the error lists the topics that do not exist, and what creates them.
func TestMissingTopics(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "lines", "app.dlq"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	p := &stream.Processor{App: "app", Inputs: []string{"lines"}, Changelog: "app.changelog", DLQ: "app.dlq", Outputs: stream.OutputTopics("words")}
	_, err = check(t.Context(), p, kadm.NewClient(cl))
	if !errors.Is(err, ErrTopics) || !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{
		"topics of app do not exist: app.changelog, words.", "kafkaadmin.CreateMissing", "package program creates them", "`weir topics apply`",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
