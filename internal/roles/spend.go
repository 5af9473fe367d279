package roles

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// SpendApp is the application id of the spend counter: its group, its transactional ids, its directory.
const SpendApp = "spendcounter"

// Spend configures the spend counter's role.
type Spend struct {
	// DC is this datacentre. Defaults to "local".
	DC string
	// Peers are the datacentres whose events are copied here. Defaults to none.
	Peers []string
	// Events is the topic of the events. Defaults to events.EventsTopic; benchmarks read another.
	Events string
	// DuplicateWindow: see spendcounter.Config.
	DuplicateWindow time.Duration
	// MaxIDs bounds the event ids that a task remembers; at half of it the older generation goes early. It is a setting
	// and not a share of memory, because replicas must forget at the same event. Defaults to 4,000,000: 3,300 events a
	// second in one partition over the whole window, at 11 to 21 bytes an id.
	MaxIDs int
	// Memory is for campaigns, in bytes. Those that do not fit cost reads. Defaults to 192 MiB.
	Memory int64
	// Metrics receives the counter's figures. Defaults to none.
	Metrics *SpendMetrics
}

const (
	campaignBytes = 140       // of a campaign day in memory, at most
	maxIDs        = 4_000_000 // see Spend.MaxIDs
	// maxPrice refuses what can only be a mistake, before one event fills the sums of its shard: a thousand million units
	// of the currency.
	maxPrice = 1_000_000_000_000_000
)

// Processor wires the spend counter: ads.events, ads.adjustments and the copied topics in, spend.by.<dc> as changelog,
// spend.health out.
func (s Spend) Processor() (processors.Processor, error) {
	if s.DC == "" {
		s.DC = "local"
	}
	if s.Memory == 0 {
		s.Memory = 192 << 20
	}
	share := s.Memory / events.Shards
	if s.MaxIDs == 0 {
		s.MaxIDs = maxIDs
	}
	cfg := spendcounter.Config{
		DC: s.DC, DuplicateWindow: s.DuplicateWindow, MaxIDs: s.MaxIDs, CacheEntries: int(share / campaignBytes), MaxPriceMicros: maxPrice,
	}
	if s.Events == "" {
		s.Events = events.EventsTopic
	}
	cfg.Inputs.Events, cfg.Inputs.Copied = s.Events, map[string]string{}
	inputs := []string{s.Events, events.AdjustmentsTopic}
	for _, dc := range append([]string{s.DC}, s.Peers...) {
		if err := events.ValidateDC(dc); err != nil {
			return processors.Processor{}, err
		}
		if dc == s.DC {
			continue
		}
		if topic := events.FromTopic(dc); !slices.Contains(inputs, topic) {
			inputs = append(inputs, topic)
			cfg.Inputs.Copied[topic] = dc
		}
	}
	return processors.Processor{
		App: SpendApp, Partitions: events.Shards, Inputs: inputs, Changelog: events.SpendTopic(s.DC), Outputs: []string{events.HealthTopic}, DLQ: events.SpendDLQTopic,
		New: func(t processors.Task) (processors.Handler, error) {
			c, err := spendcounter.New(cfg, t)
			if err != nil {
				return nil, fmt.Errorf("spend counter: %w", err)
			}
			return s.Metrics.observe(c, t.Partition), nil
		},
		Essence: spendcounter.Essence,
		Restamp: func(table byte, _, value []byte, c processors.Commit) ([]byte, error) {
			return spendcounter.Restamp(s.Events, table, value, c)
		},
	}, nil
}

// OnlyAccount promotes the spend of one account.
func (s Spend) OnlyAccount(account string) func(partition int32) processors.Selector {
	return func(int32) processors.Selector { return spendcounter.NewAccount(s.DC, account) }
}

// Topics are the topics of the spend counter's datacentre.
func (s Spend) Topics() []events.Topic {
	topics := events.Catalog(s.DC)
	for _, dc := range s.Peers {
		topics = append(topics, events.Copied(dc))
	}
	return topics
}
