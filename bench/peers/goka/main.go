package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
)

// answer is the output for the calling program.
type answer struct {
	PerSecond float64 `json:"events_per_second"`
	totals.Totals
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	brokers := flag.String("brokers", "127.0.0.1:9092", "bootstrap brokers")
	topic := flag.String("topic", "", "topic of the log; every record is counted")
	commit := flag.Duration("commit", time.Second, "time between commits of offsets")
	flag.Parse()
	a, err := run(ctx, strings.Split(*brokers, ","), *topic, *commit)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(a)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "goka:", err)
		stop()
		os.Exit(1)
	}
}

// run counts the log once into an empty table.
func run(ctx context.Context, brokers []string, topic string, commit time.Duration) (a answer, err error) {
	client, err := sarama.NewClient(brokers, config(commit))
	if err != nil {
		return a, err
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return a, errors.Join(err, client.Close())
	}
	group := fmt.Sprintf("weir.bench.goka.%d", time.Now().UnixMilli())
	watch, err := newStopwatch(client, admin, group, topic)
	if err != nil {
		return a, errors.Join(err, admin.Close())
	}
	dir, err := os.MkdirTemp("", "weir-bench-goka")
	if err != nil {
		return a, errors.Join(err, admin.Close())
	}
	var state tables
	proc, err := processor(brokers, group, topic, commit, goka.WithStorageBuilder(state.builder(dir)))
	if err != nil {
		return a, errors.Join(err, os.RemoveAll(dir), admin.Close())
	}
	if err := awaitLeaders(ctx, client, string(goka.GroupTable(goka.Group(group))), watch.parts); err != nil {
		return a, errors.Join(err, os.RemoveAll(dir), remove(admin, group), admin.Close())
	}
	work, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = proc.Run(work)
	}()
	a.PerSecond, err = watch.run(ctx, ended)
	if err == nil {
		a.Totals, err = state.totals()
	}
	stop()
	<-ended
	return a, errors.Join(err, failed, os.RemoveAll(dir), remove(admin, group), admin.Close())
}

// processor defines the group: the log as input, and a table of sums by spend key.
func processor(brokers []string, group, topic string, commit time.Duration, storage goka.ProcessorOption) (*goka.Processor, error) {
	count := func(ctx goka.Context, message any) {
		e, ok := message.(*events.View)
		if !ok {
			ctx.Fail(fmt.Errorf("the codec gave %T", message))
		}
		had, _ := ctx.Value().(sums) // zero for a new key
		ctx.SetValue(sums{had.micros + e.PriceMicros, had.count + 1})
	}
	graph := goka.DefineGroup(goka.Group(group), goka.Input(goka.Stream(topic), eventCodec{}, count), goka.Persist(sumsCodec{}))
	input := config(commit)
	input.Consumer.Interceptors = []sarama.ConsumerInterceptor{spendKeys{}}
	tables := goka.NewTopicManagerConfig()
	tables.Table.Replication = 1 // as in weir's benchmark
	return goka.NewProcessor(brokers, graph, storage,
		goka.WithHasher(newShard),
		goka.WithConsumerGroupBuilder(goka.ConsumerGroupBuilderWithConfig(input)),
		goka.WithConsumerSaramaBuilder(goka.SaramaConsumerBuilderWithConfig(config(commit))),
		goka.WithProducerBuilder(goka.ProducerBuilderWithConfig(config(commit))),
		goka.WithTopicManagerBuilder(goka.TopicManagerBuilderWithConfig(config(commit), tables)))
}

// awaitLeaders waits until the new table topic has leaders: goka's processor fails without them.
func awaitLeaders(ctx context.Context, client sarama.Client, table string, parts []int32) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := client.RefreshMetadata(table)
		for _, p := range parts {
			if err == nil {
				_, err = client.GetOffset(table, p, sarama.OffsetOldest)
			}
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// config returns goka's configuration with the fixed settings of the comparison: read committed
// records from the start, acknowledgement by all replicas.
func config(commit time.Duration) *sarama.Config {
	c := goka.DefaultConfig()
	c.Version = sarama.V3_6_0_0 // goka's default is too old for Kafka 4
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = commit
	c.Producer.RequiredAcks = sarama.WaitForAll
	return c
}

// remove deletes the table and the group.
func remove(admin sarama.ClusterAdmin, group string) error {
	return errors.Join(admin.DeleteTopic(string(goka.GroupTable(goka.Group(group)))), admin.DeleteConsumerGroup(group))
}
