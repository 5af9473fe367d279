package events

import (
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/weirhq/weir/stream"
)

// Maximum sizes of a record batch, in bytes after compression: the topic setting max.message.bytes.
// An entry of the dead-letter topic and a copied event hold a whole input record and headers, so
// their topics accept larger batches than the input topics.
const (
	MaxEventBatch = 1 << 20
	MaxDLQBatch   = 2 * MaxEventBatch
)

const day = 24 * time.Hour

// Catalog returns every topic that the spend counter of datacentre dc reads or writes in its own
// Kafka, inputs first. dc must pass ValidateDC. CopiedTopics returns the topics of records that
// other datacentres took.
func Catalog(dc string, l Layout) []stream.Topic {
	shards := l.Partitions()
	topics := []stream.Topic{
		{
			Name: l.Name(EventsTopic), Key: "account", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: inputConfig(),
			Doc:    "AdEvent: one engagement, in the datacentre that took the event; partition = Shard(account)",
		},
		{
			Name: l.Name(AdjustmentsTopic), Key: "account", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 30 * day,
			Config: inputConfig(),
			Doc:    "Adjustment: a refund, a credit or a correction for invalid traffic; partition = Shard(account)",
		},
		{
			Name: l.Name(SpendTopic(dc)), Key: "account, campaign, budget day and currency", Partitions: shards,
			Cleanup: stream.CleanupCompact,
			Config:  datasetConfig(),
			Doc: "Spend: the totals of one campaign, budget day and currency; once a second SpendHistogram: the progress of the shard; " +
				"the changelog of the spend counter",
		},
		{
			Name: l.Name(AuditTopic), Key: "none", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 30 * day,
			Config: inputConfig(),
			Doc:    "SpendAudit: what the counter has folded of one origin in one minute, to compare datacentres; partition = shard",
		},
		{
			Name: l.Name(SpendDLQTopic), Key: "origin topic, partition and offset", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: stream.DeadLetterTopic("", 0).Config,
			Doc:    "a rejected record, with its bytes, origin and reason; a tombstone marks it as resolved",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(SpendTopic(dc))
	}
	return topics
}

// CopiedTopics returns the topics for events and adjustments that are copied from datacentre dc,
// in this order. Copied records keep the timestamp of the original record: it stands for an ingest
// time that the record leaves out, and every datacentre must read the same one. The brokers must
// accept each timestamp: by default they refuse one that is an hour ahead, because of a wrong clock
// in a datacentre. A copy that is refused would hold up those of all datacentres.
func CopiedTopics(dc string, l Layout) []stream.Topic {
	return []stream.Topic{CopiedEvents(dc, l), CopiedAdjustments(dc, l)}
}

// CopiedEvents returns the topic for events that are copied from datacentre dc.
func CopiedEvents(dc string, l Layout) stream.Topic {
	return stream.Topic{
		Name: l.Name(CopiedEventsTopic(dc)), Key: "account", Partitions: l.Partitions(), Cleanup: stream.CleanupDelete,
		Retention: 7 * day, Config: copiedConfig(), Doc: copiedDoc("AdEvent", dc),
	}
}

// CopiedAdjustments returns the topic for adjustments that are copied from datacentre dc.
func CopiedAdjustments(dc string, l Layout) stream.Topic {
	return stream.Topic{
		Name: l.Name(CopiedAdjustmentsTopic(dc)), Key: "account", Partitions: l.Partitions(), Cleanup: stream.CleanupDelete,
		Retention: 30 * day, Config: copiedConfig(), Doc: copiedDoc("Adjustment", dc),
	}
}

func copiedDoc(message, dc string) string {
	return message + ": a copy from datacentre " + dc + ", with the same partition number; a header holds the origin's offset"
}

// copiedConfig returns the settings of topics of copied records.
func copiedConfig() map[string]string {
	return map[string]string{
		"max.message.bytes":               strconv.Itoa(2 * MaxEventBatch),
		"message.timestamp.type":          "CreateTime",
		"message.timestamp.after.max.ms":  strconv.Itoa(math.MaxInt64),
		"message.timestamp.before.max.ms": strconv.Itoa(math.MaxInt64),
	}
}

// PacingCatalog returns the topics of the pacing of datacentre dc, beside those of CopiedBudgets.
//
// Budgets are compacted, because they are valid until they are replaced, and a datacentre that is
// new reads all of them. Kafka keeps the last record of each key. If the key were the account, an
// older version that is written again, or late, would remove the newer one for such a reader.
// Therefore each version has a key of its own: compaction removes repetitions alone. Replaced
// versions stay in the topic. Readers take the greatest version: see package pacing/budget.
func PacingCatalog(dc string, l Layout) []stream.Topic {
	shards := l.Partitions()
	budgets := inputConfig()
	maps.Copy(budgets, budgetsConfig())
	topics := []stream.Topic{
		{
			Name: l.Name(BudgetsTopic), Key: "account, and the version as 8 bytes", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: budgets,
			Doc:    "AccountBudgets: a version of the budgets of an account; partition = Shard(account)",
		},
		{
			Name: l.Name(InsertionsTopic), Key: "account", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: day,
			Doc: "InsertionSums: ads of an account that an ad server has shown in some seconds; partition = Shard(account)",
		},
		{
			Name: l.Name(PacingTopic(dc)), Key: "state table and key", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: datasetConfig(),
			Doc: "AccountPack: how the campaigns of an account are paced; the versions of budgets that were in force, are, or will be; " +
				"the changelog of pacing",
		},
		{
			Name: l.Name(PacingAlertsTopic), Key: "account", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 30 * day,
			Doc: "BudgetAlert: a budget of a day is spent in part, or runs out early; partition = Shard(account)",
		},
		{
			Name: l.Name(PacingSignalsTopic), Key: "none", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 2 * day,
			Doc: "PacingSignals: ticks of accounts as their controllers saw them, for `weir pacing history`; partition = Shard(account)",
		},
		{
			Name: l.Name(SpendBilledTopic), Key: "account", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 400 * day,
			Doc: "BilledSpend: what a campaign has spent on a budget day, and what of it is billed, and then the sums of its account; " +
				"partition = Shard(account)",
		},
		{
			Name: l.Name(PacingOverridesTopic), Key: "leader/ and the shard, campaign/, account and campaign, or writer",
			Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: budgetsConfig(),
			Doc: "LeaderOverride: given by an operator, a process leads a shard for a time; CampaignOverride: a campaign stops for a time, " +
				"or has a probability; WriterOverride: ad servers have the parameters of a datacentre; " +
				"partition = shard, Shard(account), or 0",
		},
		{
			Name: l.Name(PacingDLQTopic), Key: "origin topic, partition and offset", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: stream.DeadLetterTopic("", 0).Config,
			Doc:    "a rejected record of budgets, with its bytes, origin and reason; a tombstone marks it as resolved",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(PacingTopic(dc))
	}
	return topics
}

// CopiedBudgets returns the topic for budgets that are copied from datacentre from to datacentre
// dc.
func CopiedBudgets(dc, from string, l Layout) stream.Topic {
	config := copiedConfig()
	maps.Copy(config, budgetsConfig())
	return stream.Topic{
		Name: l.Name(CopiedBudgetsTopic(from)), Key: "as in " + l.Name(BudgetsTopic), Partitions: l.Partitions(),
		Cleanup: stream.CleanupCompact,
		Config:  config, Changelog: l.Name(PacingTopic(dc)),
		Doc: copiedDoc("AccountBudgets", from),
	}
}

// budgetsConfig returns the settings of compaction of topics of budgets. Tombstones stay for a
// week, as those of a changelog.
func budgetsConfig() map[string]string { return stream.CompactConfig(64<<20, day, 7*day, "0.5") }

// MirrorCatalog returns the topics of the mirror, beside those of CopiedTopics: its changelog, the
// instructions of operators, and the rejected ones.
func MirrorCatalog(l Layout) []stream.Topic {
	shards := l.Partitions()
	topics := []stream.Topic{
		{
			Name: l.Name(MirrorStateTopic), Key: "datacentre and topic", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: stream.ChangelogTopic("", 0).Config,
			Doc:    "the positions up to which the topics of other datacentres are copied, as JSON; the changelog of the mirror",
		},
		{
			Name: l.Name(MirrorControlTopic), Key: "datacentre and topic", Partitions: shards, Cleanup: stream.CleanupDelete,
			Retention: 7 * day,
			Config:    inputConfig(),
			Doc:       "an instruction of `weir mirror skip`, as JSON",
		},
		{
			Name: l.Name(MirrorDLQTopic), Key: "origin topic, partition and offset", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: stream.DeadLetterTopic("", 0).Config,
			Doc:    "a rejected instruction, with its bytes, origin and reason; a tombstone marks it as resolved",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(MirrorStateTopic)
	}
	return topics
}

// PushCatalog returns the topics at datacentre target into which datacentre dc writes its totals:
// their copy, and the topics of the application.
func PushCatalog(dc, target string, l Layout) []stream.Topic {
	shards := l.Partitions()
	topics := []stream.Topic{
		{
			Name: l.Name(CopiedSpendTopic(dc)), Key: "as in " + l.Name(SpendTopic(dc)), Partitions: shards,
			Cleanup: stream.CleanupCompact,
			Config:  copiedDatasetConfig(),
			Doc:     "Spend: a copy of the totals, and of the health, of the spend counter of datacentre " + dc,
		},
		{
			Name: l.Name(PushStateTopic(dc, target)), Key: "state table and key", Partitions: shards, Cleanup: stream.CleanupCompact,
			Config: stream.ChangelogTopic("", 0).Config,
			Doc:    "the position up to which the totals of datacentre " + dc + " are copied, as JSON; the changelog of the push",
		},
		{
			Name: l.Name(PushControlTopic(dc, target)), Key: "none", Partitions: shards, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: inputConfig(),
			Doc:    "has no records; its partitions number the tasks of the push",
		},
		{
			Name: l.Name(PushDLQTopic(dc, target)), Key: "origin topic, partition and offset", Partitions: shards,
			Cleanup: stream.CleanupCompact,
			Config:  stream.DeadLetterTopic("", 0).Config,
			Doc:     "a record of the control topic, which takes none, with its bytes, origin and reason; a tombstone marks it as resolved",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(PushStateTopic(dc, target))
	}
	return topics
}

// datasetConfig returns the settings of a changelog that other datacentres follow. Kafka keeps each
// record for a minute at least, so a reader that is at most seconds behind misses none.
func datasetConfig() map[string]string {
	c := stream.ChangelogTopic("", 0).Config
	c["min.compaction.lag.ms"] = strconv.FormatInt(time.Minute.Milliseconds(), 10)
	return c
}

// copiedDatasetConfig returns the settings of a copy of a changelog. Its records have the
// timestamps of the originals, which the brokers must accept whatever the clocks are.
func copiedDatasetConfig() map[string]string {
	c := datasetConfig()
	c["message.timestamp.type"] = "CreateTime"
	c["message.timestamp.after.max.ms"] = strconv.Itoa(math.MaxInt64)
	c["message.timestamp.before.max.ms"] = strconv.Itoa(math.MaxInt64)
	return c
}

// inputConfig returns the settings of topics that other programs write. The broker stamps the time.
// With a client's timestamps, a clock that is wrong by a year would delete the client's events at
// once or keep a segment for a year, and would move its events within the health window.
func inputConfig() map[string]string {
	return map[string]string{
		"max.message.bytes":      strconv.Itoa(MaxEventBatch),
		"message.timestamp.type": "LogAppendTime",
	}
}
