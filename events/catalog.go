package events

import (
	"strconv"
	"time"
)

// Maximum sizes of a record batch, in bytes after compression: the topic setting max.message.bytes.
// An entry of the dead-letter topic and a copied event hold a whole input record and headers, so
// their topics accept larger batches than the input topics.
const (
	MaxEventBatch = 1 << 20
	MaxSpendBatch = 4 << 20 // a commit's changelog records go out in few large batches
	MaxDLQBatch   = 2 * MaxEventBatch
)

const day = 24 * time.Hour

// Catalog returns every topic that the spend counter of datacentre dc reads or writes in its own
// Kafka, inputs first. dc must pass ValidateDC. CopiedTopic returns the topics of events that other
// datacentres took.
func Catalog(dc string, l Layout) []Topic {
	shards := l.Partitions()
	topics := []Topic{
		{
			Name: l.Name(EventsTopic), Key: "account", Partitions: shards, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: inputConfig(),
			Doc:    "AdEvent: one engagement, in the datacentre that took the event; partition = Shard(account)",
		},
		{
			Name: l.Name(AdjustmentsTopic), Key: "account", Partitions: shards, Cleanup: CleanupDelete, Retention: 30 * day,
			Config: inputConfig(),
			Doc:    "Adjustment: a refund, a credit or a correction for invalid traffic; partition = Shard(account)",
		},
		{
			Name: l.Name(SpendTopic(dc)), Key: "account, campaign, budget day and currency", Partitions: shards, Cleanup: CleanupCompact,
			Config: spendConfig(),
			Doc:    "Spend: the totals of one campaign, budget day and currency; the changelog of the spend counter",
		},
		{
			Name: l.Name(HealthTopic), Key: "writer datacentre and shard", Partitions: shards, Cleanup: CleanupCompact,
			// The topic has a few keys, each written once a second. Without small segments, a new
			// reader would start with hours of old values.
			Config: compactConfig(16<<20, 10*time.Minute, day, "0.5"),
			Doc:    "SpendHistogram: the progress of a counter and its events of the last 60 s, written once a second",
		},
		{
			Name: l.Name(SpendDLQTopic), Key: "origin topic, partition and offset", Partitions: shards, Cleanup: CleanupCompact,
			Config: dlqConfig(),
			Doc:    "a rejected record, with its bytes, origin and reason; a tombstone marks it as resolved",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(SpendTopic(dc))
	}
	return topics
}

// CopiedTopic returns the topic for events that are copied from datacentre dc. Copied records keep
// the timestamp of the original record: it stands for an ingest time that the event leaves out, and
// every datacentre must read the same one.
func CopiedTopic(dc string, l Layout) Topic {
	return Topic{
		Name: l.Name(CopiedEventsTopic(dc)), Key: "account", Partitions: l.Partitions(), Cleanup: CleanupDelete, Retention: 7 * day,
		Config: map[string]string{
			"max.message.bytes":      strconv.Itoa(2 * MaxEventBatch),
			"message.timestamp.type": "CreateTime",
		},
		Doc: "AdEvent: a copy from datacentre " + dc + ", with the same partition number; a header holds the origin's offset",
	}
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

// spendConfig returns the settings of a changelog that is read whole after the loss of a store.
// Kafka never compacts the active segment, so small segments bound what a restore reads in addition
// to the state; a low dirty ratio compacts early. Tombstones stay for a week: a store that is older
// than a week is rebuilt, not caught up.
func spendConfig() map[string]string {
	c := compactConfig(32<<20, 10*time.Minute, 7*day, "0.2")
	c["max.message.bytes"] = strconv.Itoa(MaxSpendBatch)
	return c
}

// dlqConfig returns the settings of a dead-letter topic. Tombstones stay for a week, so that a slow
// reader sees which entries were resolved.
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
