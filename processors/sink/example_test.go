package sink_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/sink"
	"github.com/weirhq/weir/stream"
)

// directory is the system on which the sink acts. Its first request fails.
type directory struct {
	mu       sync.Mutex
	requests int
	phones   map[string]string
	full     func() // called when all records are done
}

func (d *directory) set(_ context.Context, r *stream.SinkRecord) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requests++; d.requests == 1 {
		return errors.New("the directory does not answer")
	}
	d.phones[string(r.Key)] = string(r.Value) // setting it twice changes nothing: the action is repeatable
	if d.phones["ann"] == "300" && d.phones["bob"] == "200" {
		d.full()
	}
	return nil
}

// A sink keeps a directory up to date with a topic. The records of a key are done in order, and a
// record that fails is done again.
func ExampleConsumer() {
	err := runExample()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// ann 300, bob 200
}

func runExample() error {
	broker, err := devbroker.Start(devbroker.Config{Topics: []stream.Topic{{Name: "phones", Partitions: 1, Cleanup: stream.CleanupCompact}}})
	if err != nil {
		return err
	}
	defer broker.Close()
	cluster := kafka.Cluster{Brokers: broker.Addrs()}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	p, err := kafka.NewProducer(cluster, "phones")
	if err != nil {
		return err
	}
	defer p.Close()
	for _, record := range []string{"ann 100", "bob 200", "ann 300"} {
		name, number, _ := strings.Cut(record, " ")
		if err := p.Produce(ctx, 0, []byte(name), []byte(number)); err != nil {
			return err
		}
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}

	d := &directory{phones: map[string]string{}, full: cancel}
	c, err := sink.New(sink.Config{Kafka: cluster, Instance: "a"}, stream.Sink{Group: "directory", Topic: "phones", Do: d.set})
	if err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil {
		return err
	}
	fmt.Printf("ann %s, bob %s\n", d.phones["ann"], d.phones["bob"])
	return nil
}
