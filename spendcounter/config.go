package spendcounter

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/events"
)

// State tables.
const (
	TableSpend    byte = 1   // spend key -> eventspb.Spend; its changelog is spend.by.<dc>
	TableTask     byte = 2   // "task" -> spendpb.TaskState
	TableMovedIDs byte = 3   // generation, former shard, number -> pairs of 8-byte hashes, id and account; see Repartitioner
	TableIDs      byte = 128 // generation, sequence -> packed 8-byte hashes; local
	TableRings    byte = 129 // "rings" -> spendpb.LocalState; local
	TableHealth   byte = 130 // key in spend.health -> the newest SpendHistogram; local
)

// Limits of a record. They bound the cost of one record. They are not settings, because producers
// rely on them.
const (
	MaxValueBytes  = 64 << 10 // of an event or adjustment
	MaxIDBytes     = 256      // of an account, campaign, event id, reference id or serving datacentre
	MaxServingDCs  = 256      // names of serving datacentres in one task
	MaxAheadMs     = 300_000  // an event time or ingest time may be at most this far after the record's own time
	MaxTimestampMs = 2_000    // a larger ingest time is applied as the record's own time plus this
)

// Config configures a Counter. The zero value works.
type Config struct {
	// DC is the datacentre of the counter. Defaults to "local".
	DC string
	// Inputs are the input topics. Defaults to ads.events and ads.adjustments, and no copied
	// topics.
	Inputs Inputs
	// DuplicateWindow is the minimum span of ingest time for which an event id is remembered. An id
	// can be remembered for up to twice as long. Defaults to 10 min.
	DuplicateWindow time.Duration
	// MaxIDs is the maximum number of event ids that a task remembers, at 11 to 21 bytes each. When
	// a generation holds half of them, the older generation is dropped early: the window is then
	// shorter, and Stats counts it. Defaults to 1,572,864: 16 MiB a task, or 1,300 events/s a task
	// over the whole window.
	MaxIDs int
	// CacheEntries is the number of campaign days that a task keeps in memory between commits, at
	// about 150 bytes each. Campaign days that changed since the last commit are kept in addition.
	// Defaults to 131,072.
	CacheEntries int
	// MaxPriceMicros is the maximum price of one event. Without a bound, one absurd price could
	// fill the sums of its shard, which would then reject every event. Defaults to the maximum of
	// int64.
	MaxPriceMicros int64
	// Shard returns the partition of an account. Defaults to events.ShardBytes among
	// events.DefaultShards.
	Shard func(account []byte) int32
}

// Inputs names the input topics.
type Inputs struct {
	// Events are the datacentre's own events. Defaults to "ads.events".
	Events string
	// Adjustments are refunds and credits. Defaults to "ads.adjustments".
	Adjustments string
	// Copied maps a topic of copied events to the datacentre of their origin. Defaults to none.
	Copied map[string]string
}

func (cfg Config) withDefaults() (Config, error) {
	def := func(s *string, to string) {
		if *s == "" {
			*s = to
		}
	}
	def(&cfg.DC, "local")
	def(&cfg.Inputs.Events, events.EventsTopic)
	def(&cfg.Inputs.Adjustments, events.AdjustmentsTopic)
	if cfg.DuplicateWindow == 0 {
		cfg.DuplicateWindow = 10 * time.Minute
	}
	if cfg.MaxIDs == 0 {
		cfg.MaxIDs = 3 << 19 // two generations of 2^20 slots filled to 3/4
	}
	if cfg.CacheEntries == 0 {
		cfg.CacheEntries = 1 << 17
	}
	if cfg.MaxPriceMicros == 0 {
		cfg.MaxPriceMicros = math.MaxInt64
	}
	if cfg.Shard == nil {
		cfg.Shard = func(account []byte) int32 { return events.ShardBytes(account, events.DefaultShards) }
	}
	return cfg, cfg.check()
}

func (cfg Config) check() error {
	if err := events.ValidateDC(cfg.DC); err != nil {
		return fmt.Errorf("spend counter: %w", err)
	}
	switch {
	case cfg.DuplicateWindow < time.Millisecond:
		return fmt.Errorf("spend counter: duplicate window %v: must be at least 1ms", cfg.DuplicateWindow)
	case cfg.MaxIDs < 2:
		return fmt.Errorf("spend counter: max ids %d: must be at least 2, one for each generation", cfg.MaxIDs)
	case cfg.CacheEntries < 1:
		return fmt.Errorf("spend counter: cache entries %d: must be at least 1", cfg.CacheEntries)
	case cfg.MaxPriceMicros < 1:
		return fmt.Errorf("spend counter: max price %d micros: must be positive", cfg.MaxPriceMicros)
	case cfg.Inputs.Events == cfg.Inputs.Adjustments:
		return errors.New("spend counter: events and adjustments are the same topic: they hold different records")
	}
	origins := map[string]string{cfg.DC: cfg.Inputs.Events}
	for topic, dc := range cfg.Inputs.Copied {
		if err := events.ValidateDC(dc); err != nil {
			return fmt.Errorf("spend counter: origin of topic %s: %w", topic, err)
		}
		switch other, twice := origins[dc]; {
		case topic == cfg.Inputs.Events || topic == cfg.Inputs.Adjustments:
			return fmt.Errorf("spend counter: topic %s is both copied and the datacentre's own", topic)
		case twice:
			return fmt.Errorf("spend counter: topics %s and %s both hold the events of %s: they would be counted twice",
				other, topic, dc)
		}
		origins[dc] = topic
	}
	return nil
}
