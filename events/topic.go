package events

import (
	"maps"
	"strconv"
	"time"
)

// Topics that have the same name in every datacentre's Kafka. These are the names in generation 1;
// Layout.Name returns the names in other generations.
const (
	EventsTopic      = "ads.events"
	AdjustmentsTopic = "ads.adjustments"
	HealthTopic      = "spend.health"
	SpendDLQTopic    = "spendcounter.dlq"
)

// SpendTopic returns the topic, in generation 1, of the totals of the counter of datacentre dc. dc
// must pass ValidateDC.
func SpendTopic(dc string) string { return "spend.by." + dc }

// CopiedEventsTopic returns the topic, in generation 1, of the events that are copied from
// datacentre dc. dc must pass ValidateDC.
func CopiedEventsTopic(dc string) string { return EventsTopic + ".from." + dc }

// Cleanup policies of a Topic.
const (
	CleanupDelete  = "delete"  // Kafka deletes segments that are older than the retention
	CleanupCompact = "compact" // Kafka keeps the last value of every key
)

// Topic is a Kafka topic with the settings that this system needs. The replication factor and
// min.insync.replicas depend on the number of brokers, so the code that creates topics chooses
// them.
type Topic struct {
	Name       string
	Key        string // what the record keys are, for people to read
	Partitions int32
	Cleanup    string            // CleanupDelete or CleanupCompact
	Retention  time.Duration     // with CleanupDelete; 0 with CleanupCompact
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
	if t.Retention > 0 {
		s["retention.ms"] = millis(t.Retention)
	}
	maps.Copy(s, t.Config)
	return s
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Applications and topics of the mirror, in generation 1.
const (
	MirrorApp          = "mirror"
	MirrorStateTopic   = "mirror.state"   // the changelog
	MirrorControlTopic = "mirror.control" // instructions of operators, as JSON
)
