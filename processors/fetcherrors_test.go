package processors

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// TestFetchErrorsOfOnePoll: an error that stops a partition hides none of another partition, which
// the client has moved.
func TestFetchErrorsOfOnePoll(t *testing.T) {
	nop := zerolog.Nop()
	w := newWorker(0, &Config{Log: &nop, Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}}, &stream.Processor{App: "a", Inputs: []string{"in"}}, nil)
	var err error
	w.sess, err = kgo.NewGroupTransactSession(kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumerGroup("a"), kgo.TransactionalID("a"), kgo.ConsumeTopics("in"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.sess.Close()
	for p := range int32(2) {
		w.tasks[p] = &task{p: p, state: taskRunning, next: map[string]int64{"in": 3}, failedFetches: map[string]*kafka.FailedFetch{}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no broker is asked
	err = w.fetchErrors(ctx, kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "in", Partitions: []kgo.FetchPartition{
		{Partition: 0, Err: kerr.InvalidTopicException}, {Partition: 1, Err: errors.New("unknown magic")},
	}}}}})
	stopped := new(changelog.StoppedError)
	if !errors.As(err, &stopped) || stopped.Partition != 0 || w.tasks[0].state != taskStopped {
		t.Errorf("partition 0 is %s: %v", w.tasks[0].state, err)
	}
	if paused := w.sess.Client().PauseFetchPartitions(nil)["in"]; !slices.Contains(paused, 1) || w.tasks[1].failedFetches["in"] == nil {
		t.Errorf("the input of partition 1 is not fetched again: %v are paused", paused)
	}
}
