package queues

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// Processor returns the processor. Input: jobs.submits.
func Processor(l events.Layout) stream.Processor {
	return stream.Processor{
		App: l.Name(events.JobsApp), Partitions: l.Partitions(), Inputs: []string{l.Name(events.JobSubmitsTopic)},
		Changelog: l.Name(events.JobsChangelogTopic), DLQ: l.Name(events.JobsDLQTopic), New: stream.FromSource(0, open),
		Tables: newTables().infos(),
		// Polls of agents are not records, so that a replay of the submissions gives other rows.
		Canonical: func(byte, []byte, []byte) []byte { return nil },
	}
}
