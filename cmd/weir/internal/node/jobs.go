package node

import (
	"fmt"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func jobsRole() Role {
	return Role{
		Name: "jobs",
		Group: Group{
			Name: "jobs", Summary: "job queues", Partitions: "jobs.partitions",
			Repartition: "set jobs.partitions to the number of the state, which the plan shows, or create new topics",
		},
		Dev:     true,
		Summary: "runs job queues: takes jobs, and gives them to agents",
		Weight:  4, Memory: jobsMemory,
		Topics: func(c *config.Config) []stream.Topic { return events.JobsCatalog(jobsLayout(c)) },
		Apps: func(c *config.Config) ([]App, error) {
			return processorApp(queues.Processor(jobsLayout(c), nil), nil)
		},
		ACLs: func(c *config.Config) ([]string, error) {
			p := queues.Processor(jobsLayout(c), nil)
			return append([]string{"--topic " + p.Inputs[0] + " --operation Write"}, kafkaadmin.ACLs(p)...), nil
		},
		Settings: []string{"jobs.partitions"},
		New:      newJobsPart,
	}
}

func jobsLayout(c *config.Config) events.Layout {
	return events.Layout{Shards: int32(c.Jobs.Partitions)}
}

// pendingBytes is the memory of a job that waits, in the core.
const pendingBytes = 12

// jobsMemory divides the share of job queues: a half is for the queues, which are in memory as a
// whole.
func jobsMemory(c *config.Config, share int64) Allocation {
	a := runtimeAllocation(c, share, leaseWorkers(c), share/8)
	jobs := share / 2
	a.Uses = append(a.Uses, Use{
		"jobs", jobs,
		fmt.Sprintf("%d that wait, %d bytes each; more of them take more than the share: raise memory, or let more processes run",
			jobs/pendingBytes, pendingBytes),
	})
	return a
}

// jobsPart is the job queues, with the sink of the API.
type jobsPart struct {
	processorPart
	sink *local.JobSink
}

// Close implements closer.
func (p jobsPart) Close() {
	p.processorPart.Close()
	p.sink.Close()
}

func newJobsPart(s *Setup) (Part, error) {
	proc := queues.Processor(jobsLayout(s.Config), logAlarm(s.Log))
	part, err := s.processor(proc, nil, func(pc *processors.Config) { pc.BallastBytes = leaseBallast })
	if err != nil {
		return nil, err
	}
	sink := &local.JobSink{Kafka: s.Kafka, Topic: proc.Inputs[0]}
	s.API.Jobs, s.API.JobSink, s.API.JobState = local.NewJobs(part.runtime), sink, part.state
	s.Registry.MustRegister(metrics.NewJobQueues(func() (list []*queues.Shown) {
		for p := range part.runtime.Partitions() {
			if shard, err := processors.HandlerOf[*queues.Shard](part.runtime, p); err == nil {
				list = append(list, shard.Shown())
			}
		}
		return list
	}))
	return jobsPart{part, sink}, nil
}

// logAlarm returns a function that logs alarms of job queues.
func logAlarm(log zerolog.Logger) func(*eventspb.JobAlarm) {
	return func(m *eventspb.JobAlarm) {
		if m.GetActive() {
			log.Warn().Str("queue", m.GetQueue()).Str("kind", m.GetKind()).Str("detail", m.GetText()).Msg("queue_alarm_raised")
		} else {
			log.Info().Str("queue", m.GetQueue()).Str("kind", m.GetKind()).Str("detail", m.GetText()).Msg("queue_alarm_over")
		}
	}
}
