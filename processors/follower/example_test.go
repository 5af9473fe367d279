package follower_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// A program keeps a table of prices from a compacted topic, and reads it while the topic changes.
func Example() {
	broker, err := devbroker.Start(devbroker.Config{Topics: []stream.Topic{{Name: "prices", Partitions: 1, Cleanup: stream.CleanupCompact}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = broker.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := publish(ctx, broker.Kafka(), "apple", "30", "pear", "45", "apple", "35"); err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "follower")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	prices, err := follower.New(follower.Config{Kafka: broker.Kafka(), Dir: dir, Name: "prices", Topics: []follower.Topic{{Name: "prices"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- prices.Run(ctx) }()
	<-prices.CaughtUp()
	apple, found, err := prices.Get("prices", 0, []byte("apple"))
	fmt.Printf("apple: %s at offset %d %t %v\n", apple.Value, apple.Offset, found, err)
	fmt.Println("complete up to a second ago:", time.Since(prices.AsOf()) < 10*time.Second)
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// apple: 35 at offset 2 true <nil>
	// complete up to a second ago: true
	// ended: <nil>
}

// publish writes pairs of keys and values.
func publish(ctx context.Context, k kafka.Cluster, pairs ...string) error {
	p, err := kafka.NewProducer(k, "prices")
	if err != nil {
		return err
	}
	defer p.Close()
	for i := 0; i < len(pairs); i += 2 {
		if err := p.Produce(ctx, 0, []byte(pairs[i]), []byte(pairs[i+1])); err != nil {
			return err
		}
	}
	return p.Flush(ctx)
}
