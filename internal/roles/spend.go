package roles

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// SpendApp is the application id of the spend counter, in generation 1: its group, its transactional ids, its directory.
const SpendApp = "spendcounter"

// Spend configures the spend counter's role.
type Spend struct {
	// DC is this datacentre. Defaults to "local".
	DC string
	// Peers are the datacentres whose events are copied here. Defaults to none.
	Peers []string
	// Layout is the number of partitions, and which topics they are of.
	Layout events.Layout
	// Events is the topic of the events. Defaults to events.EventsTopic of the layout; benchmarks read another.
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

// App is the application id.
func (s Spend) App() string { return s.Layout.Name(SpendApp) }

// Processor wires the spend counter: ads.events, ads.adjustments and the copied topics in, spend.by.<dc> as changelog,
// spend.health out.
func (s Spend) Processor() (processors.Processor, error) {
	s.defaults()
	cfg, inputs, err := s.counter()
	if err != nil {
		return processors.Processor{}, err
	}
	l := s.Layout
	return processors.Processor{
		App: s.App(), Partitions: l.Partitions(), Inputs: inputs, Changelog: l.Name(events.SpendTopic(s.DC)),
		Outputs: []string{l.Name(events.HealthTopic)}, DLQ: l.Name(events.SpendDLQTopic), Continued: l.Generation > 1,
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

func (s *Spend) defaults() {
	if s.DC == "" {
		s.DC = "local"
	}
	if s.Events == "" {
		s.Events = s.Layout.Name(events.EventsTopic)
	}
	if s.Memory == 0 {
		s.Memory = 192 << 20
	}
	if s.MaxIDs == 0 {
		s.MaxIDs = maxIDs
	}
}

// counter is what the spend counter counts, and its input topics.
func (s *Spend) counter() (cfg spendcounter.Config, inputs []string, err error) {
	l, shards := s.Layout, s.Layout.Partitions()
	share := s.Memory / int64(shards)
	cfg = spendcounter.Config{
		DC: s.DC, DuplicateWindow: s.DuplicateWindow, MaxIDs: s.MaxIDs, CacheEntries: max(1, int(share/campaignBytes)), MaxPriceMicros: maxPrice,
		Shard: func(account []byte) int32 { return events.ShardBytes(account, shards) },
	}
	cfg.Inputs = spendcounter.Inputs{Events: s.Events, Adjustments: l.Name(events.AdjustmentsTopic), Copied: map[string]string{}}
	inputs = []string{s.Events, cfg.Inputs.Adjustments}
	for _, dc := range append([]string{s.DC}, s.Peers...) {
		if err := events.ValidateDC(dc); err != nil {
			return cfg, nil, err
		}
		if dc == s.DC {
			continue
		}
		if topic := l.Name(events.FromTopic(dc)); !slices.Contains(inputs, topic) {
			inputs = append(inputs, topic)
			cfg.Inputs.Copied[topic] = dc
		}
	}
	return cfg, inputs, nil
}

// OnlyAccount promotes the spend of one account.
func (s Spend) OnlyAccount(account string) func(partition int32) processors.Selector {
	return func(int32) processors.Selector { return spendcounter.NewAccount(s.DC, account) }
}

// Topics are the topics of the spend counter's datacentre.
func (s Spend) Topics() []events.Topic {
	topics := events.Catalog(s.DC, s.Layout)
	for _, dc := range s.Peers {
		topics = append(topics, events.Copied(dc, s.Layout))
	}
	return topics
}
