package pacing

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/stream"
)

// ProcessorConfig configures the processor of pacing.
type ProcessorConfig struct {
	// DC is the name of this datacentre.
	DC string
	// Instance is the name of this process, for the rows of leaders. Defaults to none.
	Instance string
	// Peers are the datacentres whose budgets are copied to this one. Defaults to none.
	Peers []string
	// Layout is the number of partitions and the generation of the topics.
	Layout events.Layout
	// Spend reads the spend of accounts. Defaults to none: budgets are kept, and nothing is paced.
	Spend SpendReader
	// OtherPacks calls fn for each pack that another datacentre writes from then on in a partition,
	// until ctx ends. Defaults to none: controllers know nothing of those of other datacentres.
	OtherPacks func(ctx context.Context, partition int32, fn func(*eventspb.AccountPack))
	// Insertions calls fn for each record of ads.insertions.sums that is written from then on in a
	// partition, in this datacentre and in others, until ctx ends. Defaults to none: controllers
	// know what was charged alone.
	Insertions func(ctx context.Context, partition int32, fn func(*eventspb.InsertionSums))
	// Overrides returns the last overrides of campaigns of an account that were read, see
	// pack.Account.SetOverrides. Defaults to none.
	Overrides func(account string) []*eventspb.CampaignOverride
	// BillAfter is the time after the end of a budget day in which its spend may still be counted.
	// Then the day is billed. Defaults to 0: no day is.
	BillAfter time.Duration
	// Problem is called if an account cannot be paced, or begins again: the time zone of its
	// budgets is not known to this process, or a pack cannot be decoded. It is called again each
	// control.Tick while an account cannot be paced. It is also called if a day of the account is
	// not billed. Defaults to nothing.
	Problem func(account string, err error)
	// Controller is the rule by which campaigns are paced. Defaults to control.Ratio.
	Controller control.Controller
}

// Processor returns the processor. Inputs: ads.budgets and its copies. Changelog: pacing.by.<dc>.
func (p ProcessorConfig) Processor() (stream.Processor, error) {
	l := p.Layout
	inputs := []string{l.Name(events.BudgetsTopic)}
	for _, dc := range p.Peers {
		if err := events.ValidateDC(dc); err != nil {
			return stream.Processor{}, err
		}
		if dc != p.DC {
			inputs = append(inputs, l.Name(events.CopiedBudgetsTopic(dc)))
		}
	}
	outputs := []stream.Output{
		{Name: alertsOutput, Topic: l.Name(events.PacingAlertsTopic), Partitioner: events.ShardBytes},
		{Name: signalsOutput, Topic: l.Name(events.PacingSignalsTopic)},
		{Name: billedOutput, Topic: l.Name(events.SpendBilledTopic), Partitioner: events.ShardBytes},
	}
	if p.alone() {
		outputs = append(outputs, stream.Output{Name: heartbeatsOutput, Topic: l.Name(events.EventsTopic)})
	}
	return stream.Processor{
		App: l.Name(events.PacingApp), Partitions: l.Partitions(), Inputs: inputs, Changelog: l.Name(events.PacingTopic(p.DC)),
		Outputs: outputs,
		DLQ:     l.Name(events.PacingDLQTopic), New: stream.FromSource(0, p.open), Tables: tables(l.Partitions()), Canonical: canonical,
	}, nil
}

// alone reports whether there is no other datacentre.
func (p ProcessorConfig) alone() bool {
	return !slices.ContainsFunc(p.Peers, func(dc string) bool { return dc != p.DC })
}

// Names of the outputs.
const (
	alertsOutput  = "alerts"
	signalsOutput = "signals"
	billedOutput  = "billed"
	// heartbeatsOutput gets a heartbeat where a day waits for an event. With other datacentres the
	// mirror writes heartbeats.
	heartbeatsOutput = "heartbeats"
)

// canonical leaves out all but the budgets: packs, leaders and days depend on the spend and on the
// time, which no input has.
func canonical(table byte, _, value []byte) []byte {
	if table != TableBudgets {
		return nil
	}
	return value
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
