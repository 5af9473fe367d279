package stream

import (
	"maps"
	"strconv"
	"time"
)

// Cleanup policies of a Topic.
const (
	CleanupDelete  = "delete"  // Kafka deletes segments that are older than the retention
	CleanupCompact = "compact" // Kafka keeps the last value of every key
)

// RetainAll is a Topic.Retention: Kafka deletes no record of the topic by its age.
const RetainAll time.Duration = -1

// Topic is a Kafka topic with the settings that a program needs. The replication factor and
// min.insync.replicas depend on the number of brokers, so the code that creates topics chooses
// them.
type Topic struct {
	Name       string
	Key        string // what the record keys are, for people to read
	Partitions int32
	Cleanup    string            // CleanupDelete or CleanupCompact
	Retention  time.Duration     // with CleanupDelete; 0 with CleanupCompact; RetainAll
	Config     map[string]string // further settings that differ from the broker's defaults, by Kafka's names
	Doc        string            // what the records are, for people to read
	// Changelog is the changelog of the application that reads or writes the topic by its tasks, so
	// that the topic has as many partitions as the state. Empty if no application has such tasks.
	Changelog string
}

// Settings returns all topic settings by Kafka's names: the cleanup policy, the retention and
// Config. The caller owns the map.
func (t Topic) Settings() map[string]string {
	s := map[string]string{"cleanup.policy": t.Cleanup}
	switch {
	case t.Retention == RetainAll:
		s["retention.ms"] = "-1"
	case t.Retention > 0:
		s["retention.ms"] = millis(t.Retention)
	}
	maps.Copy(s, t.Config)
	return s
}

// Maximum sizes of a record batch, in bytes after compression: the topic setting max.message.bytes.
// A dead letter holds a whole input record and headers, so its topic accepts batches of twice
// Kafka's default.
const (
	maxChangelogBatch  = 4 << 20 // a commit's changelog records go out in few large batches
	maxDeadLetterBatch = 2 << 20
)

const day = 24 * time.Hour

// ChangelogTopic describes a changelog, which is read whole after the loss of a store. Kafka never
// compacts the active segment, so small segments bound what a restore reads in addition to the
// state; a low dirty ratio compacts early. Tombstones stay for a week: a store that is older than a
// week is rebuilt, not caught up.
func ChangelogTopic(name string, partitions int32) Topic {
	c := CompactConfig(32<<20, 10*time.Minute, 7*day, "0.2")
	c["max.message.bytes"] = strconv.Itoa(maxChangelogBatch)
	return Topic{
		Name: name, Key: "state table and key", Partitions: partitions, Cleanup: CleanupCompact, Config: c,
		Doc: "changes of state of a processor",
	}
}

// DeadLetterTopic describes a dead-letter topic. Tombstones stay for a week, so that a slow reader
// sees which entries were resolved.
func DeadLetterTopic(name string, partitions int32) Topic {
	c := CompactConfig(64<<20, day, 7*day, "0.1")
	c["max.message.bytes"] = strconv.Itoa(maxDeadLetterBatch)
	return Topic{
		Name: name, Key: "origin topic, partition and offset", Partitions: partitions, Cleanup: CleanupCompact, Config: c,
		Doc: "rejected records, each with its origin and the reason, until a tombstone marks it resolved",
	}
}

// DataTopic describes a topic that programs write and processors read: its records expire after
// retention.
func DataTopic(name string, partitions int32, retention time.Duration) Topic {
	return Topic{Name: name, Partitions: partitions, Cleanup: CleanupDelete, Retention: retention}
}

// CompactConfig returns the Topic.Config of a compacted topic: the size and the greatest age of a
// segment, how long tombstones stay, and the share of a log that may be superseded records before
// Kafka compacts it, such as "0.5". The caller owns the map.
func CompactConfig(segmentBytes int, segmentAge, tombstones time.Duration, dirtyRatio string) map[string]string {
	return map[string]string{
		"segment.bytes":             strconv.Itoa(segmentBytes),
		"segment.ms":                millis(segmentAge),
		"delete.retention.ms":       millis(tombstones),
		"min.cleanable.dirty.ratio": dirtyRatio,
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
