package node

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/buildinfo"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// spendGroup is the group of the roles that work on ad spend.
func spendGroup() Group {
	return Group{
		Name: "spend", Summary: "all roles of ad spend",
		Partitions:  "spend.partitions",
		Repartition: "`weir repartition` moves the state to another number of partitions",
	}
}

func spendCounterRole() Role {
	return Role{
		Name: "spendcounter", Group: spendGroup(), Dev: true,
		Summary: "counts the spend of ad campaigns and serves it",
		// It reads a thousand times as many records as the lease loop.
		Weight: 8, Memory: spendMemory,
		Topics:   func(c *config.Config) []events.Topic { return SpendCounter(c).Topics() },
		App:      func(c *config.Config) string { return SpendCounter(c).Layout.Name(spendcounter.App) },
		ACLs:     processorACLs(func(c *config.Config) (stream.Processor, error) { return SpendCounter(c).Processor() }),
		Doctor:   formerTopics,
		Settings: []string{"dc", "peers"},
		New:      newSpendPart,
	}
}

// SpendCounter returns the spend counter of a configuration: its topics and its application id.
// The duplicate window and memory are the defaults.
func SpendCounter(c *config.Config) spendcounter.ProcessorConfig {
	return spendcounter.ProcessorConfig{
		DC: c.DC, Peers: c.Peers, Layout: events.Layout{Shards: int32(c.Spend.Partitions), Generation: c.Spend.Generation},
	}
}

// countingConfig adds to SpendCounter what determines the result of the count.
func countingConfig(c *config.Config, memory Allocation) spendcounter.ProcessorConfig {
	s := SpendCounter(c)
	s.DuplicateWindow, s.MaxIDs, s.Memory = c.Spend.DuplicateWindow, c.Spend.MaxIDs, campaignBytes(memory.Share)
	return s
}

// campaignBytes is the memory for campaigns, of the role's share.
func campaignBytes(share int64) int64 { return share / 4 }

// idBytes is the largest size of an event id in memory.
const idBytes = 21

func spendMemory(c *config.Config, share int64) Allocation {
	workers := c.Processor.Workers
	if workers == 0 {
		workers = processors.DefaultWorkers()
	}
	a := runtimeAllocation(c, share, workers, share/8)
	a.Uses = append([]Use{{"campaigns", campaignBytes(share), "campaigns that do not fit are read from the store"}}, a.Uses...)
	a.Outside = []Use{{
		"event ids", int64(c.Spend.MaxIDs) * idBytes * int64(c.Spend.Partitions),
		fmt.Sprintf("outside the budget: spend.max_ids in each of %d partitions, if so many events arrive within spend.duplicate_window", c.Spend.Partitions),
	}}
	return a
}

// spendPart is the spend counter with the sources of the API.
type spendPart struct {
	processorPart
	info   *local.ClusterInfo
	router *api.Router
}

func newSpendPart(s *Setup) (Part, error) {
	c := s.Config
	counter := countingConfig(c, s.Memory)
	proc, err := counter.Processor()
	if err != nil {
		return nil, err
	}
	proc = metrics.NewSpend(s.Registry).Meter(proc)
	rt, err := s.runtime(proc, func(pc *processors.Config) {
		pc.Traces, pc.FormerChangelogs = s.Traces, formerChangelogs(c)
	})
	if err != nil {
		return nil, err
	}
	p := &spendPart{processorPart: processorPart{rt}}
	p.info = &local.ClusterInfo{Runtime: rt, Kafka: s.Kafka, DC: c.DC, Layout: counter.Layout, Version: buildinfo.Read().Version}
	if s.Table != nil {
		p.info.LeaseRegions = s.Table.Config.Regions
	}
	p.router = api.NewRouter(api.RouterConfig{
		State: local.NewStateReader(rt, counter.Layout), Peers: local.Peers{Kafka: s.Kafka, App: proc.App},
		TLS: s.Access.TLS, Roots: s.Access.Roots,
	})
	s.API.Spend = &local.SpendReader{State: p.router, Kafka: s.Kafka, Inputs: proc.Inputs, DC: c.DC, Shards: proc.Partitions}
	s.API.Cluster, s.API.Savepoints, s.API.State = p.info, p.info, p.router
	return p, nil
}

// Ready implements Part.
func (p *spendPart) Ready(context.Context) Readiness {
	r := runtimeReadiness(p.runtime)
	if r.Partitions = p.info.Owned(); r.Partitions == 0 && len(r.Reasons) == 0 { // standbys only
		r.Reasons = []string{p.runtime.App() + " has no partition assigned yet"}
	}
	return r
}

// Advertise implements advertiser.
func (p *spendPart) Advertise(endpoint string) { p.runtime.Advertise(endpoint) }

// Close implements closer.
func (p *spendPart) Close() { p.router.Close() }

// formerChangelogs lists the changelogs of all former generations, the last one first.
func formerChangelogs(c *config.Config) (topics []string) {
	for g := c.Spend.Generation - 1; g >= 1; g-- {
		topics = append(topics, events.Layout{Generation: g}.Name(events.SpendTopic(c.DC)))
	}
	return topics
}

// formerTopics counts the unread records in the topics of the previous generation. The spend
// counter does not read those topics any more.
func formerTopics(ctx context.Context, c *config.Config, k kafka.Cluster) []kafkaadmin.Check {
	if c.Spend.Generation <= 1 {
		return nil
	}
	former := SpendCounter(c)
	former.Layout.Generation--
	check := kafkaadmin.Check{
		Name: "former topics", OK: true, Severity: kafkaadmin.Error,
		Remedy: "find the producers that still send to the former topics, and send these records again to the topics of this generation",
	}
	proc, err := former.Processor()
	if err != nil {
		check.OK, check.Detail = false, err.Error()
		return []kafkaadmin.Check{check}
	}
	lag, err := kafkaadmin.Lag(ctx, k, proc.App, proc.Inputs)
	if err != nil {
		check.Detail = "the topics of the previous generation do not exist, or cannot be read"
		return []kafkaadmin.Check{check}
	}
	var unread int64
	for _, l := range lag {
		unread += l.Lag
	}
	check.OK = unread == 0
	check.Detail = fmt.Sprintf("%d records of generation %d are not counted", unread, former.Layout.Generation)
	return []kafkaadmin.Check{check}
}
