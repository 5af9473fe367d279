package node

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors"
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

// pacingPart is pacing, with the sink of the API.
type pacingPart struct {
	processorPart
	sink *budgetSink
}

// Close implements closer.
func (p pacingPart) Close() {
	p.processorPart.Close()
	p.sink.Close()
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
	sink := newBudgetSink(s.Kafka, Pacing(s.Config).Layout)
	s.API.BudgetSink = sink
	return pacingPart{part, sink}, nil
}
