package events

import (
	"maps"
	"strconv"
	"time"
)

// Topics whose names are the same in every datacentre's Kafka, as generation 1 has them: see Layout.
const (
	EventsTopic      = "ads.events"
	AdjustmentsTopic = "ads.adjustments"
	HealthTopic      = "spend.health"
	SpendDLQTopic    = "spendcounter.dlq"
)

// SpendTopic is the topic of the spend that the counter of datacentre dc published, in generation 1. dc must pass ValidateDC.
func SpendTopic(dc string) string { return "spend.by." + dc }

// FromTopic is the topic of the events copied from datacentre dc, in generation 1. dc must pass ValidateDC.
func FromTopic(dc string) string { return EventsTopic + ".from." + dc }

// Cleanup policies of a Topic.
const (
	CleanupDelete  = "delete"  // segments go when they are older than the retention
	CleanupCompact = "compact" // the last value of every key stays
)

// Topic is a Kafka topic as this system needs it. The replication factor and min.insync.replicas are not part of it:
// they depend on how many brokers there are, and are chosen where topics are created.
type Topic struct {
	Name       string
	Key        string // what the record keys are, for people
	Partitions int32
	Cleanup    string            // CleanupDelete or CleanupCompact
	Retention  time.Duration     // of a deleted topic; 0 for a compacted one
	Config     map[string]string // what else differs from the broker's defaults
	Doc        string            // what a record is, for people
}

// Settings are all topic-level configurations by Kafka's names: cleanup, retention and Config. The map is the caller's.
func (t Topic) Settings() map[string]string {
	s := map[string]string{"cleanup.policy": t.Cleanup}
	if t.Retention > 0 {
		s["retention.ms"] = millis(t.Retention)
	}
	maps.Copy(s, t.Config)
	return s
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
