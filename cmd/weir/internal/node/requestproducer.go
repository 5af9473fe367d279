package node

import (
	"context"
	"time"

	"github.com/weirhq/weir/processors/kafka"
)

// requestProducer writes the records of requests of the API to a topic, those of one request at a
// time.
type requestProducer struct {
	kafka kafka.Cluster
	topic string
	// idle has the producer while no request uses it; nil: the next request makes one.
	idle chan *kafka.Producer
	// finish is the time for which a write continues after its request was canceled. Defaults to 0:
	// it ends, and the producer with it.
	finish time.Duration
}

func newRequestProducer(k kafka.Cluster, topic string) *requestProducer {
	r := &requestProducer{kafka: k, topic: topic, idle: make(chan *kafka.Producer, 1)}
	r.idle <- nil
	return r
}

// produce calls write with a producer, and returns when what it has written is acknowledged.
func (r *requestProducer) produce(ctx context.Context, write func(*kafka.Producer) error) (err error) {
	var p *kafka.Producer
	select {
	case p = <-r.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		// A producer that failed returns its error for ever. One whose request was canceled would
		// still write the records of that request, when its caller takes them for lost.
		if err != nil && p != nil {
			p.Close()
			p = nil
		}
		r.idle <- p
	}()
	if r.finish > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), r.finish)
		defer cancel()
	}
	if p == nil {
		if p, err = kafka.NewProducer(r.kafka, r.topic); err != nil {
			return err
		}
	}
	if err := write(p); err != nil {
		return err
	}
	return p.Flush(ctx)
}

// close closes the producer. Call it after the last request.
func (r *requestProducer) close() {
	if p := <-r.idle; p != nil {
		p.Close()
	}
}
