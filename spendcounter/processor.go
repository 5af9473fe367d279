package spendcounter

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// App is the application id of the spend counter, in generation 1: its group, its transactional ids, its directory.
const App = "spendcounter"

// ProcessorConfig configures the spend counter's role.
type ProcessorConfig struct {
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
}

const (
	campaignBytes = 140       // of a campaign day in memory, at most
	maxIDs        = 4_000_000 // see Spend.MaxIDs
	// maxPrice refuses what can only be a mistake, before one event fills the sums of its shard: a thousand million units
	// of the currency.
	maxPrice = 1_000_000_000_000_000
)

// App is the application id.
func (s ProcessorConfig) App() string { return s.Layout.Name(App) }

// Processor wires the spend counter: ads.events, ads.adjustments and the copied topics in, spend.by.<dc> as changelog,
// spend.health out.
func (s ProcessorConfig) Processor() (stream.Processor, error) {
	s.setDefaults()
	cfg, inputs, err := s.counter()
	if err != nil {
		return stream.Processor{}, err
	}
	l := s.Layout
	return stream.Processor{
		App: s.App(), Partitions: l.Partitions(), Inputs: inputs, Changelog: l.Name(events.SpendTopic(s.DC)),
		Outputs: []stream.Output{{Name: events.HealthTopic, Topic: l.Name(events.HealthTopic)}}, DLQ: l.Name(events.SpendDLQTopic), Migrated: l.Generation > 1,
		New: func(t stream.Task) (stream.Handler, error) {
			c, err := New(cfg, t)
			if err != nil {
				return nil, fmt.Errorf("spend counter: %w", err)
			}
			return c, nil
		},
		Canonical: Canonical,
		Rewrite: func(table byte, _, value []byte, c stream.Commit) ([]byte, error) {
			return Rewrite(s.Events, table, value, c)
		},
	}, nil
}

func (s *ProcessorConfig) setDefaults() {
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
func (s *ProcessorConfig) counter() (cfg Config, inputs []string, err error) {
	l, shards := s.Layout, s.Layout.Partitions()
	share := s.Memory / int64(shards)
	cfg = Config{
		DC: s.DC, DuplicateWindow: s.DuplicateWindow, MaxIDs: s.MaxIDs, CacheEntries: max(1, int(share/campaignBytes)), MaxPriceMicros: maxPrice,
		Shard: func(account []byte) int32 { return events.ShardBytes(account, shards) },
	}
	cfg.Inputs = Inputs{Events: s.Events, Adjustments: l.Name(events.AdjustmentsTopic), Copied: map[string]string{}}
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

// Topics are the topics of the spend counter's datacentre.
func (s ProcessorConfig) Topics() []events.Topic {
	topics := events.Catalog(s.DC, s.Layout)
	for _, dc := range s.Peers {
		topics = append(topics, events.Copied(dc, s.Layout))
	}
	return topics
}

// MoveFrom describes the move of the state from another number of partitions: from layout former to that of s. from is the
// processor whose state is read; its handlers give what move takes over.
func (s ProcessorConfig) MoveFrom(former events.Layout) (move *Repartitioner, from, to stream.Processor, err error) {
	old := s
	old.Layout, old.Events = former, ""
	old.setDefaults()
	cfg, _, err := old.counter()
	if err != nil {
		return nil, from, to, err
	}
	if move, err = NewRepartitioner(cfg, former.Partitions(), s.Layout.Partitions()); err != nil {
		return nil, from, to, err
	}
	if from, err = old.Processor(); err != nil {
		return nil, from, to, err
	}
	from.New = func(t stream.Task) (stream.Handler, error) { return move.Source(t) }
	to, err = s.Processor()
	return move, from, to, err
}
