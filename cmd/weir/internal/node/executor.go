package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/executor"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/sink"
	"github.com/weirhq/weir/stream"
)

func executorRole() Role {
	return leaseRole(Role{
		Name: "executor", Summary: "carries out commands as writes to DynamoDB, and renews the write leases of regions",
		Weight: 1, Memory: executorMemory, Settings: []string{"leases.regions", "leases.region"}, New: newExecutors,
		ACLs: executorACLs, Apps: executorApps,
	})
}

// executorApps returns the executors of all regions.
func executorApps(c *config.Config) (apps []App, err error) {
	for _, r := range regionNames(c) {
		apps = append(apps, App{Name: events.LeaseExecutorGroup(r), Inputs: []string{events.LeaseCommandsTopic(r)}})
	}
	return apps, nil
}

// executorACLs lists the rights for the executors of this process.
func executorACLs(c *config.Config) (lines []string, err error) {
	for _, r := range executorRegions(c) {
		lines = append(lines, kafkaadmin.SinkACLs(events.LeaseExecutorGroup(r), events.LeaseCommandsTopic(r), events.LeaseResultsTopic)...)
	}
	return lines, nil
}

const (
	commandBytes       = 1 << 10 // memory of a command in a queue
	minCommandsPerSlot = 4       // commands in a queue, for each that may be under way
	maxCommands        = 2000    // commands in a queue
)

// executorRegions returns the regions whose commands this process carries out: leases.region, or
// all regions.
func executorRegions(c *config.Config) []string {
	if c.Leases.Region != "" {
		return []string{c.Leases.Region}
	}
	return regionNames(c)
}

// queueLength is the number of commands that each partition of each region may hold in memory.
func queueLength(c *config.Config, share int64) int64 {
	queues := int64(len(executorRegions(c))) * int64(c.Leases.Partitions)
	return max(min(share/commandBytes/queues, maxCommands), minCommandsPerSlot*int64(c.Leases.Executor.Concurrency))
}

func executorMemory(c *config.Config, share int64) Allocation {
	regions, length := int64(len(executorRegions(c))), queueLength(c, share)
	return Allocation{Share: share, Uses: []Use{{
		"commands", length * regions * int64(c.Leases.Partitions) * commandBytes,
		fmt.Sprintf("up to %d commands of each partition wait in memory while their region is down or behind; %d regions", length, regions),
	}}}
}

// executorPart has one executor for each region.
type executorPart struct {
	executors []*executor.Executor
	renewal   writeLeaseRenewal
	brokers   *brokers
}

func newExecutors(s *Setup) (Part, error) {
	l := s.Config.Leases
	list, err := executor.RegionsConfig{
		Config: executor.Config{
			Regions: regionNames(s.Config), Partitions: int32(l.Partitions), Kafka: s.Kafka, Instance: s.Config.Instance,
			Log: &s.Log, Metrics: executor.NewMetrics(s.Registry), Pending: int(queueLength(s.Config, s.Memory.Share)),
			Concurrency: l.Executor.Concurrency, MaxRate: l.Executor.Rate,
		},
		Regions: executorRegions(s.Config), Connection: s.Table.connection, Table: l.Table, Skew: l.Skew, Timeout: l.Executor.Timeout,
	}.New()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		s.API.Apps = append(s.API.Apps,
			api.App{Name: e.Sink().Group, Instance: s.Config.Instance, Tasks: executorTasks{e, s.Config.Instance}})
	}
	return &executorPart{list, writeLeaseRenewal{s.Table, executorRegions(s.Config), s.Log}, s.brokers}, nil
}

// executorTasks are the partitions of an executor in this process.
type executorTasks struct {
	executor *executor.Executor
	instance string
}

// Tasks implements api.TaskSource.
func (t executorTasks) Tasks(context.Context) (list []*weirpb.Partition, err error) {
	of := t.executor.Sink()
	for _, s := range t.executor.Status() {
		p := sinkPartition(&of, s)
		p.Instance = t.instance
		list = append(list, p)
	}
	return list, nil
}

// sinkPartition describes a partition of a sink.
func sinkPartition(of *stream.Sink, s sink.Status) *weirpb.Partition {
	p := &weirpb.Partition{App: of.Group, Partition: s.Partition, State: processors.StateRunning}
	if s.Stopped != nil {
		p.State, p.Reason = processors.StateStopped, s.Stopped.Error()
	}
	if u := new(kafka.UnreadableError); errors.As(s.Stopped, &u) && u.Resume > 0 {
		p.Unreadable = &weirpb.UnreadableInput{Topic: u.Topic, Offset: u.Offset, Next: u.Resume}
	}
	for _, r := range s.Skipped {
		p.Skipped = append(p.Skipped,
			&weirpb.SkippedRange{Topic: of.Topic, From: r.From, To: r.To, Who: r.Who, Why: r.Why, AtMs: r.At.UnixMilli()})
	}
	return p
}

// Run implements Part.
func (p *executorPart) Run(ctx context.Context) error {
	if err := p.brokers.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return executor.RunAll(ctx, p.executors)
}

// Background implements background.
func (p *executorPart) Background(ctx context.Context) (stop func()) { return p.renewal.start(ctx) }

// Ready implements Part.
func (p *executorPart) Ready(context.Context) Readiness {
	var r Readiness
	var texts []string
	stopped := 0
	for _, e := range p.executors {
		var gaps []api.PartitionGap
		for _, s := range e.Status() {
			r.Partitions++
			if s.Stopped != nil {
				gaps = append(gaps, api.PartitionGap{Partition: s.Partition, State: processors.StateStopped, Reason: s.Stopped.Error()})
			}
		}
		stopped += len(gaps)
		for _, text := range api.DescribeGaps(gaps) {
			texts = append(texts, "executor of "+e.Region()+" "+text)
		}
	}
	r.AddStopped(texts, stopped < r.Partitions)
	return r
}
