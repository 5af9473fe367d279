package events

import (
	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/stream"
)

// Application and topics of job queues, in generation 1.
const (
	JobsApp            = "jobs"
	JobSubmitsTopic    = "jobs.submits"   // the input
	JobsChangelogTopic = "jobs.changelog" // the state
	JobsDLQTopic       = "jobs.dlq"       // rejected records
	JobAlarmsTopic     = "jobs.alarms"    // an output
	JobEventsTopic     = "jobs.events"    // an output
)

// JobsCatalog returns the topics of job queues.
func JobsCatalog(l Layout) []stream.Topic {
	changelog := stream.ChangelogTopic(l.Name(JobsChangelogTopic), l.Partitions())
	changelog.Doc = "the queues of a partition, with their jobs and agents; the changelog of the job queues"
	dlq := stream.DeadLetterTopic(l.Name(JobsDLQTopic), l.Partitions())
	dlq.Doc = "a rejected submission, with its bytes, origin and reason; a tombstone marks it as resolved"
	topics := []stream.Topic{
		{
			Name: l.Name(JobSubmitsTopic), Key: "queue", Partitions: l.Partitions(), Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: inputConfig(),
			Doc:    "JobSubmission: a job of a queue; its id is the partition, one of QueuePartitions(queue), and the offset",
		},
		changelog, dlq,
		{
			Name: l.Name(JobAlarmsTopic), Key: "queue", Partitions: l.Partitions(), Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Doc: "JobAlarm: attempts fail, or jobs wait for too long; or that it is over",
		},
		{
			Name: l.Name(JobEventsTopic), Key: "job", Partitions: l.Partitions(), Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Doc: "JobEvent: a change of a job, an agent or a queue, of queues with events; in the partition of the job",
		},
	}
	for i := range topics {
		topics[i].Changelog = l.Name(JobsChangelogTopic)
	}
	return topics
}

// QueuePartitions returns the partitions of jobs.submits that have a queue: n that follow each
// other, from xxHash64 of its name, as an unsigned number, modulo partitions, on. n is limited to
// partitions, and at least 1. partitions must be at least 1.
func QueuePartitions(queue string, n, partitions int32) []int32 {
	n = min(max(n, 1), partitions)
	first := int32(xxhash.Sum64String(queue) % uint64(partitions))
	list := make([]int32, n)
	for i := range list {
		list[i] = (first + int32(i)) % partitions
	}
	return list
}
