//go:build synctests

package sink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
)

// TestPublishEndsWithItsContext loses the answer to a record and then the brokers: whether they
// have the record stays unknown, and the end of the context ends Publish.
func TestPublishEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := simkafka.New(1, "results")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		link := c.Link()
		p, err := NewPublisher(kafka.Cluster{Brokers: c.ListenAddrs(), Options: link.Options()}, "results")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Publish(t.Context(), 0, nil, []byte("a")); err != nil {
			t.Fatal(err)
		}
		c.LoseAnswers(kmsg.Produce, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Publish(ctx, 0, nil, []byte("b")) }()
		for c.Lost() == 0 {
			time.Sleep(time.Millisecond)
		}
		link.Cut()
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Publish waits for the brokers a minute after its context ended")
		}
		link.Heal()
		if err := p.Publish(t.Context(), 0, nil, []byte("c")); err != nil {
			t.Errorf("the next record: %v", err)
		}
	})
}
