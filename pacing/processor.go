package pacing

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the processor of pacing.
type ProcessorConfig struct {
	// DC is the name of this datacentre.
	DC string
	// Peers are the datacentres whose budgets are copied to this one. Defaults to none.
	Peers []string
	// Layout is the number of partitions and the generation of the topics.
	Layout events.Layout
}

// Processor returns the processor. Inputs: ads.budgets and its copies. Changelog: pacing.by.<dc>.
func (p ProcessorConfig) Processor() (stream.Processor, error) {
	l := p.Layout
	h := handler{shards: l.Partitions(), budgets: budgetTable()}
	on := []stream.Callback{stream.OnBytes(l.Name(events.BudgetsTopic), h.fold)}
	for _, dc := range p.Peers {
		if err := events.ValidateDC(dc); err != nil {
			return stream.Processor{}, err
		}
		if dc != p.DC {
			on = append(on, stream.OnBytes(l.Name(events.CopiedBudgetsTopic(dc)), h.fold))
		}
	}
	return stream.Processor{
		App: l.Name(events.PacingApp), Partitions: l.Partitions(), Changelog: l.Name(events.PacingTopic(p.DC)),
		DLQ: l.Name(events.PacingDLQTopic), On: on, Tables: tables(l.Partitions()),
	}, nil
}

// Topics returns the topics of pacing in this datacentre.
func (p ProcessorConfig) Topics() []stream.Topic {
	topics := events.PacingCatalog(p.DC, p.Layout)
	for _, dc := range p.Peers {
		if dc != p.DC {
			topics = append(topics, events.CopiedBudgets(p.DC, dc, p.Layout))
		}
	}
	return topics
}
