package node

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func pacingRole() Role {
	return Role{
		Name: "pacing", Group: spendGroup(), Dev: true,
		Summary: "keeps the budgets of accounts and serves them",
		Weight:  1, Memory: coreMemory,
		Topics: func(c *config.Config) []stream.Topic { return Pacing(c).Topics() },
		// A replay would need the inputs from their begin, and gives the same state anyway.
		Apps:     func(c *config.Config) ([]App, error) { return processorApp(Pacing(c).Processor()) },
		ACLs:     pacingACLs,
		Settings: []string{"dc", "dcs"},
		New:      newPacingPart,
	}
}

// Pacing returns the configuration of pacing.
func Pacing(c *config.Config) pacing.ProcessorConfig {
	return pacing.ProcessorConfig{DC: c.DC, Peers: c.PeerNames(), Layout: SpendCounter(c).Layout}
}

func pacingACLs(c *config.Config) ([]string, error) {
	p, err := Pacing(c).Processor()
	write := "--topic " + SpendCounter(c).Layout.Name(events.BudgetsTopic) + " --operation Write"
	return append([]string{write}, kafkaadmin.ACLs(p)...), err // the API writes what it is sent
}

func newPacingPart(s *Setup) (Part, error) {
	proc, err := Pacing(s.Config).Processor()
	if err != nil {
		return nil, err
	}
	part, err := s.processor(proc, nil, func(pc *processors.Config) { pc.BallastBytes = leaseBallast })
	if err != nil {
		return nil, err
	}
	s.API.Budgets = &api.BudgetReader{State: part.state, Shards: proc.Partitions}
	s.API.Packs = &api.PackReader{State: part.state, Shards: proc.Partitions}
	s.API.BudgetSink = budgetSink{s.Kafka, Pacing(s.Config).Layout}
	return part, nil
}

// budgetSink writes budgets. Budgets change rarely, so each call has a producer of its own.
type budgetSink struct {
	kafka  kafka.Cluster
	layout events.Layout
}

// Produce implements api.BudgetSink.
func (b budgetSink) Produce(ctx context.Context, list []*budget.Document) error {
	p, err := kafka.NewProducer(b.kafka, b.layout.Name(events.BudgetsTopic))
	if err != nil {
		return err
	}
	defer p.Close()
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
