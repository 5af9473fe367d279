package queues

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Processor returns the processor. Input: jobs.submits. Outputs: jobs.alarms and jobs.events. alarm
// is called with each record of jobs.alarms, before that has committed; nil: nothing is called.
func Processor(l events.Layout, alarm func(*eventspb.JobAlarm)) stream.Processor {
	if alarm == nil {
		alarm = func(*eventspb.JobAlarm) {}
	}
	open := func(t stream.Task) (stream.Source, error) { return open(t, alarm) }
	return stream.Processor{
		App: l.Name(events.JobsApp), Partitions: l.Partitions(), Inputs: []string{l.Name(events.JobSubmitsTopic)},
		Changelog: l.Name(events.JobsChangelogTopic), DLQ: l.Name(events.JobsDLQTopic),
		Outputs: []stream.Output{
			{Name: alarmsOutput, Topic: l.Name(events.JobAlarmsTopic)}, {Name: eventsOutput, Topic: l.Name(events.JobEventsTopic)},
		},
		New: stream.FromSource(0, open), Tables: newTables().infos(),
		// Polls of agents are not records, so that a replay of the submissions gives other rows.
		Canonical: func(byte, []byte, []byte) []byte { return nil },
	}
}
