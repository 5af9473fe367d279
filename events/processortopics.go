package events

import "time"

// ChangelogTopic describes the changelog of a processor: compacted, in small segments, so that a
// restore reads little beyond the state itself.
func ChangelogTopic(name string, partitions int32) Topic {
	return Topic{
		Name: name, Key: "state table and key", Partitions: partitions, Cleanup: CleanupCompact, Config: spendConfig(),
		Doc: "changes of state of a processor",
	}
}

// DeadLetterTopic describes the dead-letter topic of a processor.
func DeadLetterTopic(name string, partitions int32) Topic {
	return Topic{
		Name: name, Key: "origin topic, partition and offset", Partitions: partitions, Cleanup: CleanupCompact, Config: dlqConfig(),
		Doc: "rejected records, each with its origin and the reason, until a tombstone marks it resolved",
	}
}

// DataTopic describes a topic that programs write and processors read: its records expire after
// retention.
func DataTopic(name string, partitions int32, retention time.Duration) Topic {
	return Topic{Name: name, Partitions: partitions, Cleanup: CleanupDelete, Retention: retention}
}
