package spendcounter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
)

// State tables.
const (
	TableSpend      byte = 1   // spend key -> eventspb.Spend; its changelog is spend.by.<dc>
	TableTask       byte = 2   // "task" -> spendpb.TaskState
	TableMovedIDs   byte = 3   // bucket, former shard, number -> pairs of 8 bytes, id and hash of the account; see Repartitioner
	TableCampaigns  byte = 4   // campaign, account -> empty: the index of the accounts that have a campaign
	TableRanking    byte = 5   // day, currency, account, campaign -> set of orders by which the campaign is among the first RankingSize
	TableBuckets    byte = 6   // bucket -> spendpb.Bucket
	TableReferences byte = 7   // account, reference id -> spendpb.AppliedAdjustment
	TableImports    byte = 8   // import (16 bytes) -> sequence number from which it was not applied (8 bytes)
	TableHours      byte = 9   // spend key, hour -> eventspb.SpendHour, of the hours before the newest one of the campaign day
	TableTotals     byte = 10  // day, currency -> spendpb.Total, of all campaign days
	TableParts      byte = 11  // spend key, line item, arm -> eventspb.SpendPart
	TableHealth     byte = 12  // health key -> the newest eventspb.SpendHistogram, behind all other rows of its transaction
	TableIDs        byte = 128 // bucket, sequence -> packed ids of 8 bytes; local
	TableRings      byte = 129 // "rings" -> spendpb.LocalState; local
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
	// DuplicateWindow is the maximum time between an event and its ingest for which the event is
	// checked for duplicates. A later event is late. All replicas need the same value. Defaults to
	// 10 min.
	DuplicateWindow time.Duration
	// OutOfOrderness is how far the ingest time of an event may be behind the greatest of its
	// origin. An event that is further behind is late. All replicas need the same value. Defaults
	// to 2 min, for which a Kafka producer repeats a record by default.
	OutOfOrderness time.Duration
	// RejectLate rejects late events. Otherwise they are charged without a check for duplicates.
	// Stats counts them in both cases. All replicas need the same value.
	RejectLate bool
	// MaxIDs is the maximum number of event ids that a task keeps in memory after a commit, at 11
	// to 21 bytes each. Further buckets of ids are read from the local table when an event needs
	// them. A bucket that holds half of them forgets its ids and begins again; Stats counts it.
	// Defaults to 1,572,864: 16 MiB per task, or 1,800 events/s per task over the whole window.
	MaxIDs int
	// CacheEntries is the number of campaign days that a task keeps in memory between commits, at
	// about 150 bytes each. Campaign days that changed since the last commit are kept in addition.
	// Defaults to 131,072.
	CacheEntries int
	// MaxPriceMicros is the maximum price of one event. Without a bound, one absurd price could
	// fill the sums of its shard, which would then reject every event. Defaults to the maximum of
	// int64.
	MaxPriceMicros int64
	// Hours counts charges and events also by hour. All replicas need the same value.
	Hours bool
	// Parts counts charges and events also by line item and arm: this many pairs of each campaign
	// day have a row of their own, and one more row has the others. All replicas need the same
	// value. Defaults to 0: not at all.
	Parts int
	// Retention is how long the rows of a budget day are kept after the day has ended in all time
	// zones, by the smallest watermark of all origins. Then the day is closed: its rows are added
	// to the lifetime rows of their campaigns, and so are events and adjustments that name it
	// later. All replicas need the same value. Defaults to 0: for ever.
	Retention time.Duration
	// Shard returns the partition of an account. Defaults to events.ShardBytes among
	// events.DefaultShards.
	Shard func(account []byte) int32

	ranking     int // campaigns of a ranking; tests use fewer. Defaults to RankingSize.
	closingRows int // rows that a Flush looks at to find those of closed days; each of them counts as 16. Defaults to 1,024.
}

// Inputs names the input topics.
type Inputs struct {
	// Events are the datacentre's own events. Defaults to "ads.events".
	Events string
	// Adjustments are refunds and credits. Defaults to "ads.adjustments".
	Adjustments string
	// Copied maps a topic of copied events to the datacentre of their origin. Defaults to none.
	Copied map[string]string
	// CopiedAdjustments maps a topic of copied adjustments to the datacentre of their origin.
	// Defaults to none.
	CopiedAdjustments map[string]string
}

// setDefaults sets defaults and returns an error for an invalid field.
func (cfg *Config) setDefaults() error {
	def := func(s *string, to string) {
		if *s == "" {
			*s = to
		}
	}
	def(&cfg.DC, "local")
	def(&cfg.Inputs.Events, events.EventsTopic)
	def(&cfg.Inputs.Adjustments, events.AdjustmentsTopic)
	cfg.DuplicateWindow = cfg.duplicateWindow()
	if cfg.OutOfOrderness == 0 {
		cfg.OutOfOrderness = 2 * time.Minute
	}
	if cfg.MaxIDs == 0 {
		cfg.MaxIDs = 3 << 19 // two sets of 2^20 slots filled to 3/4
	}
	if cfg.CacheEntries == 0 {
		cfg.CacheEntries = 1 << 17
	}
	if cfg.MaxPriceMicros == 0 {
		cfg.MaxPriceMicros = math.MaxInt64
	}
	if cfg.ranking == 0 {
		cfg.ranking = RankingSize
	}
	if cfg.closingRows == 0 {
		cfg.closingRows = 1024
	}
	if cfg.Shard == nil {
		cfg.Shard = func(account []byte) int32 { return events.ShardBytes(account, events.DefaultShards) }
	}
	return cfg.check()
}

func (cfg Config) check() error {
	if err := events.ValidateDC(cfg.DC); err != nil {
		return fmt.Errorf("spend counter: %w", err)
	}
	switch {
	case cfg.DuplicateWindow < time.Millisecond:
		return fmt.Errorf("spend counter: duplicate window %v: must be at least 1ms", cfg.DuplicateWindow)
	case cfg.OutOfOrderness < time.Millisecond:
		return fmt.Errorf("spend counter: out-of-orderness %v: must be at least 1ms", cfg.OutOfOrderness)
	case cfg.Retention < 0:
		return fmt.Errorf("spend counter: retention %v: must not be negative", cfg.Retention)
	case cfg.Parts < 0 || cfg.Parts > MaxParts:
		return fmt.Errorf("spend counter: parts %d: must be 0 to %d", cfg.Parts, MaxParts)
	case cfg.MaxIDs < 2:
		return fmt.Errorf("spend counter: max ids %d: must be at least 2, one for a bucket", cfg.MaxIDs)
	case cfg.CacheEntries < 1:
		return fmt.Errorf("spend counter: cache entries %d: must be at least 1", cfg.CacheEntries)
	case cfg.MaxPriceMicros < 1:
		return fmt.Errorf("spend counter: max price %d micros: must be positive", cfg.MaxPriceMicros)
	case cfg.Inputs.Events == cfg.Inputs.Adjustments:
		return errors.New("spend counter: events and adjustments are the same topic: they hold different records")
	}
	if err := cfg.checkCopied(cfg.Inputs.Copied, cfg.Inputs.Events, "events"); err != nil {
		return err
	}
	for _, topic := range slices.Sorted(maps.Keys(cfg.Inputs.CopiedAdjustments)) {
		if dc, twice := cfg.Inputs.Copied[topic]; twice {
			return fmt.Errorf("spend counter: topic %s holds both events and adjustments of %s: they are different records", topic, dc)
		}
	}
	return cfg.checkCopied(cfg.Inputs.CopiedAdjustments, cfg.Inputs.Adjustments, "adjustments")
}

// checkCopied checks the topics of copied records of a kind. own is the datacentre's own topic. The
// topics are checked in the order of their names, so that one configuration has one error.
func (cfg Config) checkCopied(copied map[string]string, own, kind string) error {
	origins := map[string]string{cfg.DC: own}
	for _, topic := range slices.Sorted(maps.Keys(copied)) {
		dc := copied[topic]
		if err := events.ValidateDC(dc); err != nil {
			return fmt.Errorf("spend counter: origin of topic %s: %w", topic, err)
		}
		switch other, twice := origins[dc]; {
		case topic == cfg.Inputs.Events || topic == cfg.Inputs.Adjustments:
			return fmt.Errorf("spend counter: topic %s is both copied and the datacentre's own", topic)
		case twice:
			return fmt.Errorf("spend counter: topics %s and %s both hold the %s of %s: they would be counted twice",
				other, topic, kind, dc)
		}
		origins[dc] = topic
	}
	return nil
}

// duplicateWindow returns DuplicateWindow or its default.
func (cfg *Config) duplicateWindow() time.Duration {
	return cmp.Or(cfg.DuplicateWindow, 10*time.Minute)
}
