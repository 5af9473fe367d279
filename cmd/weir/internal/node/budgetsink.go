package node

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/processors/kafka"
)

// budgetSink writes budgets.
type budgetSink struct {
	producer *requestProducer
	shards   int32
}

func newBudgetSink(k kafka.Cluster, l events.Layout) *budgetSink {
	return &budgetSink{newRequestProducer(k, l.Name(events.BudgetsTopic)), l.Partitions()}
}

// Produce implements api.BudgetSink.
func (b *budgetSink) Produce(ctx context.Context, list []*budget.Document) error {
	return b.producer.produce(ctx, func(p *kafka.Producer) error {
		for _, d := range list {
			value, err := proto.Marshal(d.Record())
			if err != nil {
				return err
			}
			if err := p.Produce(ctx, events.Shard(d.Account, b.shards), d.RecordKey(), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the producer. Call it after the last request.
func (b *budgetSink) Close() { b.producer.close() }

var _ api.BudgetSink = (*budgetSink)(nil)
