package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/offline"
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
		Topics: func(c *config.Config) []stream.Topic { return SpendCounter(c).Topics() },
		Apps:   spendApps,
		ACLs:   spendACLs, RepartitionACLs: spendRepartitionACLs,
		Doctor:   otherGenerations,
		Settings: []string{"dc", "dcs"},
		New:      newSpendPart,
	}
}

// spendACLs lists the rights of the spend counter in the generation of c.
func spendACLs(c *config.Config) ([]string, error) {
	p, err := SpendCounter(c).Processor()
	return kafkaadmin.ACLs(p, FormerChangelogs(c.DC, c.Spend.Generation)...), err
}

func spendRepartitionACLs(c *config.Config) ([]string, error) {
	if c.Spend.Generation <= 1 {
		return nil, nil
	}
	_, from, to, err := SpendCounter(c).MoveFrom(events.Layout{Generation: c.Spend.Generation - 1})
	return kafkaadmin.RepartitionACLs(from, to), err
}

// spendApps returns the application of the spend counter.
func spendApps(c *config.Config) ([]App, error) {
	counter := OfflineSpendCounter(c)
	apps, err := processorApp(counter.Processor())
	if err != nil {
		return nil, err
	}
	apps[0].Replay = &ReplayRules{
		Migrated: counter.Migrated(),
		Select: func(account string, live stream.Get, c stream.Commit) (offline.Selector, error) {
			return counter.Promotion(account, live, c)
		},
	}
	apps[0].Route = func(l *kafkaadmin.DeadLetter, partitions int32) (int32, error) {
		return spendRoute(l, partitions, counter.Layout.Partitions())
	}
	return apps, nil
}

// spendRoute returns the partition for a replayed record of a topic with some partitions: that of
// its account if it was rejected for being in the partition of others, or else the one that it was
// in.
func spendRoute(l *kafkaadmin.DeadLetter, partitions, shards int32) (int32, error) {
	if l.Reason != spendcounter.ReasonWrongPartition {
		return l.Origin.Partition, nil
	}
	account, err := spendcounter.AccountOf(l.Origin.Topic, l.Value)
	if err != nil {
		return 0, err
	}
	if partitions < shards { // an administrator may have added some, which the counter ignores
		return 0, fmt.Errorf("%s has %d partitions, and the configuration %d (spend.partitions, spend.generation)",
			l.Origin.Topic, partitions, shards)
	}
	return events.Shard(account, shards), nil
}

// SpendCounter returns the spend counter of a configuration: its topics and its application id.
// The duplicate window and memory are the defaults.
func SpendCounter(c *config.Config) spendcounter.ProcessorConfig {
	return spendcounter.ProcessorConfig{
		DC: c.DC, Peers: c.PeerNames(), Layout: events.Layout{Shards: int32(c.Spend.Partitions), Generation: c.Spend.Generation},
	}
}

// countingConfig adds to SpendCounter what determines the result of the count.
func countingConfig(c *config.Config, memory Allocation) spendcounter.ProcessorConfig {
	s := SpendCounter(c)
	s.DuplicateWindow, s.RejectLate = c.Spend.DuplicateWindow, c.Spend.LateEvents == "reject"
	s.Hours, s.Parts, s.Retention = c.Spend.Hours, c.Spend.Parts, c.Spend.Retention
	s.MaxIDs, s.Memory = c.Spend.MaxIDs, campaignBytes(memory.Share)
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
		fmt.Sprintf("outside the budget: spend.max_ids in each of %d partitions, if so many events arrive within spend.duplicate_window",
			c.Spend.Partitions),
	}}
	return a
}

// spendPart is the spend counter with the sources of the API.
type spendPart struct {
	processorPart
}

func newSpendPart(s *Setup) (Part, error) {
	c := s.Config
	counter := countingConfig(c, s.Memory)
	proc, err := counter.Processor()
	if err != nil {
		return nil, err
	}
	proc = metrics.NewSpend(s.Registry).Meter(proc)
	part, err := s.processor(proc, local.CheckSpend, func(pc *processors.Config) {
		pc.Traces, pc.FormerChangelogs = s.Traces, FormerChangelogs(c.DC, c.Spend.Generation)
	})
	if err != nil {
		return nil, err
	}
	s.Cluster.DC, s.Cluster.Layout, s.Cluster.DCs = c.DC, &counter.Layout, c.Ring()
	ends := func(ctx context.Context) (map[string]map[int32]int64, error) {
		return kafka.EndOffsets(ctx, s.Kafka, proc.Inputs...)
	}
	reader := &api.SpendReader{State: part.state, DC: c.DC, Shards: proc.Partitions, Ends: ends}
	s.API.Spend, s.API.Adjustments = reader, reader
	s.API.DefaultApp = proc.App
	return &spendPart{part}, nil
}

// Ready implements Part.
func (p *spendPart) Ready(context.Context) Readiness {
	r := local.RuntimeReadiness(p.runtime)
	if r.Partitions = p.owned(); r.Partitions == 0 && len(r.Reasons) == 0 { // standbys only
		r.Reasons = []string{p.runtime.App() + " has no partition assigned yet"}
	}
	return r
}

// owned returns the number of partitions that this process owns.
func (p *spendPart) owned() (n int) {
	for _, s := range p.runtime.Status() {
		if s.State != processors.StateStandby {
			n++
		}
	}
	return n
}

// FormerChangelogs lists the changelogs of a datacentre's spend counters of all generations before
// one, the last one first.
func FormerChangelogs(dc string, generation int) (topics []string) {
	for g := generation - 1; g >= 1; g-- {
		topics = append(topics, events.Layout{Generation: g}.Name(events.SpendTopic(dc)))
	}
	return topics
}

// otherGenerations checks that the state and all records of the former generations are in this one,
// and that this one was not moved to the next.
func otherGenerations(ctx context.Context, c *config.Config, k kafka.Cluster) []kafkaadmin.Check {
	checks := []kafkaadmin.Check{moveOfState(ctx, c, k)}
	if c.Spend.Generation > 1 {
		checks = append(checks, formerTopics(ctx, c, k))
	}
	return checks
}

// moveOfState checks that `weir repartition` has moved the state to this generation as a whole, and
// not away from it.
func moveOfState(ctx context.Context, c *config.Config, k kafka.Cluster) kafkaadmin.Check {
	check := kafkaadmin.Check{Name: "move of the state", Severity: kafkaadmin.Error}
	proc, err := SpendCounter(c).Processor()
	if err == nil {
		err = kafkaadmin.CheckMove(ctx, k, proc, FormerChangelogs(c.DC, c.Spend.Generation)...)
	}
	switch {
	case err == nil:
		check.OK, check.Severity, check.Detail = true, kafkaadmin.Info, "the state is in this generation, or there is none yet"
		return check
	case errors.Is(err, kafkaadmin.ErrUnknownTopic):
		check.OK, check.Severity, check.Detail = true, kafkaadmin.Info, "not known: the topics do not exist"
		return check
	case errors.Is(err, processors.ErrMovedAway):
		check.Remedy = "use the configuration of that generation; or undo the move with `weir repartition --undo` and that configuration"
	case errors.Is(err, processors.ErrNotMoved):
		check.Remedy = "run `weir repartition` with this configuration"
	case errors.Is(err, processors.ErrPartlyMoved):
		check.Remedy = "run `weir repartition` again with this configuration, which completes the move"
	default:
		check.Remedy = "see the checks of brokers and topics"
	}
	check.Detail = err.Error()
	return check
}

// formerTopics counts the unread records in the topics of the previous generation. The spend
// counter does not read those topics any more.
func formerTopics(ctx context.Context, c *config.Config, k kafka.Cluster) kafkaadmin.Check {
	former := SpendCounter(c)
	former.Layout.Generation--
	check := kafkaadmin.Check{
		Name: "former topics", OK: true, Severity: kafkaadmin.Error,
		Remedy: "find the producers that still send to the former topics, and send these records again to the topics of this generation",
	}
	proc, err := former.Processor()
	if err != nil {
		check.OK, check.Detail = false, err.Error()
		return check
	}
	lag, err := kafkaadmin.Lag(ctx, k, proc.App, proc.Inputs)
	if err != nil {
		check.Detail = "the topics of the previous generation do not exist, or cannot be read"
		return check
	}
	var unread int64
	for _, l := range lag {
		unread += l.Lag
	}
	check.OK = unread == 0
	check.Detail = fmt.Sprintf("%d records of generation %d are not counted", unread, former.Layout.Generation)
	return check
}
