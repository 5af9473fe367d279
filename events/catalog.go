package events

import (
	"strconv"
	"time"
)

// Greatest sizes of a record batch, in bytes as compressed. An entry of the dead-letter queue and a copied event hold a
// whole input record and headers besides, so their topics take more than any input can be.
const (
	MaxEventBatch = 1 << 20
	MaxSpendBatch = 4 << 20 // a commit's changelog goes out in few large batches
	MaxDLQBatch   = 2 * MaxEventBatch
)

const day = 24 * time.Hour

// Catalog is every topic that the spend counter of datacentre dc reads and writes in its own Kafka, in the order of an
// event's way. dc must pass ValidateDC. Topics copied from other datacentres: see Copied.
func Catalog(dc string, l Layout) []Topic {
	shards := l.Partitions()
	return []Topic{
		{
			Name: l.Name(EventsTopic), Key: "account", Partitions: shards, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: inputConfig(),
			Doc:    "AdEvent: one engagement, in the datacentre where it arrived; partition = Shard(account)",
		},
		{
			Name: l.Name(AdjustmentsTopic), Key: "account", Partitions: shards, Cleanup: CleanupDelete, Retention: 30 * day,
			Config: inputConfig(),
			Doc:    "Adjustment: a refund, a credit or invalid traffic; partition = Shard(account)",
		},
		{
			Name: l.Name(SpendTopic(dc)), Key: "account, campaign, budget day and currency", Partitions: shards, Cleanup: CleanupCompact,
			Config: spendConfig(),
			Doc:    "Spend: absolute figures of one campaign and day; the spend counter's changelog, published",
		},
		{
			Name: l.Name(HealthTopic), Key: "writer datacentre and shard", Partitions: shards, Cleanup: CleanupCompact,
			// A few keys, written once a second: small segments, or a reader starts with hours of old values.
			Config: compactConfig(16<<20, 10*time.Minute, day, "0.5"),
			Doc:    "SpendHistogram: how far a counter is and how much it counted in the last 60 s, once a second",
		},
		{
			Name: l.Name(SpendDLQTopic), Key: "origin topic, partition and offset", Partitions: shards, Cleanup: CleanupCompact,
			Config: dlqConfig(),
			Doc:    "a record that was not counted, with bytes, origin and reason; it stays until a tombstone marks it resolved",
		},
	}
}

// Copied is the topic into which events of datacentre dc are copied. Its records keep the timestamps of their origin,
// because a time of ingest that is left out means the record's own: every datacentre must read the same one.
func Copied(dc string, l Layout) Topic {
	return Topic{
		Name: l.Name(FromTopic(dc)), Key: "account", Partitions: l.Partitions(), Cleanup: CleanupDelete, Retention: 7 * day,
		Config: map[string]string{
			"max.message.bytes":      strconv.Itoa(2 * MaxEventBatch),
			"message.timestamp.type": "CreateTime",
		},
		Doc: "AdEvent copied from " + dc + ": same partition number, a header names the origin's offset",
	}
}

// inputConfig is for topics that others write. The broker stamps the time: a client's clock that is wrong by a year
// would otherwise delete its events at once or keep a segment for a year, and shift its events in the health window.
func inputConfig() map[string]string {
	return map[string]string{
		"max.message.bytes":      strconv.Itoa(MaxEventBatch),
		"message.timestamp.type": "LogAppendTime",
	}
}

// spendConfig is for a changelog that is read whole when a store is lost. The active segment is never compacted, so
// small ones bound what a restore reads beyond the state itself; a low dirty ratio compacts early. Deletions stay
// visible for a week: a store older than that is rebuilt, not caught up.
func spendConfig() map[string]string {
	c := compactConfig(32<<20, 10*time.Minute, 7*day, "0.2")
	c["max.message.bytes"] = strconv.Itoa(MaxSpendBatch)
	return c
}

// dlqConfig keeps tombstones for a week, so that a slow reader learns that an entry was resolved.
func dlqConfig() map[string]string {
	c := compactConfig(64<<20, day, 7*day, "0.1")
	c["max.message.bytes"] = strconv.Itoa(MaxDLQBatch)
	return c
}

func compactConfig(segmentBytes int, segmentAge, tombstones time.Duration, dirtyRatio string) map[string]string {
	return map[string]string{
		"segment.bytes":             strconv.Itoa(segmentBytes),
		"segment.ms":                millis(segmentAge),
		"delete.retention.ms":       millis(tombstones),
		"min.cleanable.dirty.ratio": dirtyRatio,
	}
}
