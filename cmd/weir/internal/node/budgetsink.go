package node

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/processors/kafka"
)

// budgetSink writes budgets, those of one request at a time.
type budgetSink struct {
	kafka  kafka.Cluster
	layout events.Layout
	// idle has the producer while no request uses it; nil: the next request makes one.
	idle chan *kafka.Producer
}

func newBudgetSink(k kafka.Cluster, l events.Layout) *budgetSink {
	b := &budgetSink{k, l, make(chan *kafka.Producer, 1)}
	b.idle <- nil
	return b
}

// Produce implements api.BudgetSink.
func (b *budgetSink) Produce(ctx context.Context, list []*budget.Document) (err error) {
	var p *kafka.Producer
	select {
	case p = <-b.idle:
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
		b.idle <- p
	}()
	if p == nil {
		if p, err = kafka.NewProducer(b.kafka, b.layout.Name(events.BudgetsTopic)); err != nil {
			return err
		}
	}
	for _, d := range list {
		value, err := proto.Marshal(d.Record())
		if err != nil {
			return err
		}
		if err := p.Produce(ctx, events.Shard(d.Account, b.layout.Partitions()), d.RecordKey(), value); err != nil {
			return err
		}
	}
	return p.Flush(ctx)
}

// Close closes the producer. Call it after the last request.
func (b *budgetSink) Close() {
	if p := <-b.idle; p != nil {
		p.Close()
	}
}

var _ api.BudgetSink = (*budgetSink)(nil)
