package spendcounter

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// App is the application id of the spend counter in generation 1. The names of its group, its
// transactional ids and its directory derive from it.
const App = "spendcounter"

// ProcessorConfig configures the processor of the spend counter.
type ProcessorConfig struct {
	// DC is the name of this datacentre. Defaults to "local".
	DC string
	// Peers are the datacentres whose events are copied to this one. Defaults to none.
	Peers []string
	// Layout is the number of partitions, the generation and the prefix of the topics.
	Layout events.Layout
	// DuplicateWindow and RejectLate: see spendcounter.Config.
	DuplicateWindow time.Duration
	RejectLate      bool
	// Hours, Parts and Retention: see spendcounter.Config.
	Hours     bool
	Parts     int
	Retention time.Duration
	// MaxIDs is Config.MaxIDs. It does not depend on Memory, because replicas must forget an id at
	// the same event. Defaults to 4,000,000: 4,700 events per second in one partition over the
	// whole window, at 11 to 21 bytes per id.
	MaxIDs int
	// Memory is the memory for campaign days, in bytes. Further campaign days cost reads. Defaults
	// to 192 MiB.
	Memory int64
}

const (
	campaignBytes = 140       // of a campaign day in memory, at most
	hourBytes     = 32        // of its newest hour
	pairListBytes = 120       // of its list of pairs; each pair counts as a campaign day
	maxIDs        = 4_000_000 // default of ProcessorConfig.MaxIDs
)

// App returns the application id of the layout's generation.
func (s ProcessorConfig) App() string { return s.Layout.Name(App) }

// Processor returns the processor of the spend counter. Inputs: ads.events, ads.adjustments and
// their copies. Changelog: spend.by.<dc>. Output: spend.audit.
func (s ProcessorConfig) Processor() (stream.Processor, error) {
	s.setDefaults()
	cfg, inputs, err := s.counter()
	if err != nil {
		return stream.Processor{}, err
	}
	l := s.Layout
	return stream.Processor{
		App: s.App(), Partitions: l.Partitions(), Inputs: inputs, Changelog: l.Name(events.SpendTopic(s.DC)),
		Outputs: []stream.Output{{Name: auditOutput, Topic: l.Name(events.AuditTopic)}},
		DLQ:     l.Name(events.SpendDLQTopic),
		New: func(t stream.Task) (stream.Handler, error) {
			c, err := New(cfg, t)
			if err != nil {
				return nil, fmt.Errorf("spend counter: %w", err)
			}
			return c, nil
		},
		Canonical: Canonical, Settled: Settled, Tables: tables(l.Partitions()),
		Settings: map[string]string{
			"the duplicate window": cfg.duplicateWindow().String(), "the maximum of event ids": fmt.Sprint(cfg.MaxIDs),
			"the rejection of late events": fmt.Sprint(cfg.RejectLate),
			"the count by hour":            fmt.Sprint(cfg.Hours),
			"the maximum of parts":         fmt.Sprint(cfg.Parts),
			"the retention":                cfg.Retention.String(),
		},
	}, nil
}

// Migrated reports whether the state began with the state of an earlier generation, so that the
// inputs alone cannot reproduce it.
func (s ProcessorConfig) Migrated() bool { return s.Layout.Generation > 1 }

// Rewrite converts a value that another counter wrote into a value of commit c.
func (s ProcessorConfig) Rewrite(table byte, _, value []byte, c stream.Commit) ([]byte, error) {
	s.setDefaults()
	return Rewrite(s.Layout.Name(events.EventsTopic), table, value, c)
}

func (s *ProcessorConfig) setDefaults() {
	if s.DC == "" {
		s.DC = "local"
	}
	if s.Memory == 0 {
		s.Memory = 192 << 20
	}
	if s.MaxIDs == 0 {
		s.MaxIDs = maxIDs
	}
}

// counter returns the configuration of the counters, and the input topics.
func (s *ProcessorConfig) counter() (cfg Config, inputs []string, err error) {
	l, shards := s.Layout, s.Layout.Partitions()
	share, of := s.Memory/int64(shards), int64(campaignBytes+filterBytes)
	if s.Hours {
		of += hourBytes
	}
	if s.Parts > 0 {
		of += pairListBytes
	}
	cfg = Config{
		DC: s.DC, DuplicateWindow: s.DuplicateWindow, RejectLate: s.RejectLate, Hours: s.Hours, Parts: s.Parts, Retention: s.Retention,
		MaxIDs: s.MaxIDs, CacheEntries: max(1, int(share/of)), MaxPriceMicros: events.MaxPriceMicros,
		Shard: func(account []byte) int32 { return events.ShardBytes(account, shards) },
	}
	cfg.Inputs = Inputs{
		Events: l.Name(events.EventsTopic), Adjustments: l.Name(events.AdjustmentsTopic),
		Copied: map[string]string{}, CopiedAdjustments: map[string]string{},
	}
	inputs = []string{cfg.Inputs.Events, cfg.Inputs.Adjustments}
	for _, dc := range append([]string{s.DC}, s.Peers...) {
		if err := events.ValidateDC(dc); err != nil {
			return cfg, nil, err
		}
		if dc == s.DC {
			continue
		}
		topic := l.Name(events.CopiedEventsTopic(dc))
		if !slices.Contains(inputs, topic) {
			adjustments := l.Name(events.CopiedAdjustmentsTopic(dc))
			inputs = append(inputs, topic, adjustments)
			cfg.Inputs.Copied[topic], cfg.Inputs.CopiedAdjustments[adjustments] = dc, dc
		}
	}
	return cfg, inputs, nil
}

// Topics returns the topics of the spend counter's datacentre.
func (s ProcessorConfig) Topics() []stream.Topic {
	topics := events.Catalog(s.DC, s.Layout)
	for _, dc := range s.Peers {
		for _, copied := range events.CopiedTopics(dc, s.Layout) {
			copied.Changelog = s.Layout.Name(events.SpendTopic(s.DC))
			topics = append(topics, copied)
		}
	}
	return topics
}

// MoveFrom describes the move of the state from layout former to the layout of s. from is the
// processor whose state is read: its handlers are the counters that move extracts from. to is the
// processor of s.
func (s ProcessorConfig) MoveFrom(former events.Layout) (move *Repartitioner, from, to stream.Processor, err error) {
	old := s
	old.Layout = former
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
