package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/push"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

func pushRole() Role {
	return Role{
		Name: "push", Group: spendGroup(),
		Summary: "writes the totals of this datacentre into the next two of the ring (dcs)",
		Weight:  2, Memory: pushMemory,
		Topics: pushTopics, Apps: pushApps, ACLs: pushACLs, Doctor: checkPushTargets,
		Settings: []string{"dc", "dcs"}, Check: checkPushes,
		New: newPushPart,
	}
}

// checkPushes returns an error if there is no other datacentre.
func checkPushes(c *config.Config) error {
	if len(c.PushTargets()) == 0 {
		return errors.New(
			"dcs has no other datacentre, so there is nowhere to write the totals: list all datacentres, or run the role spendcounter alone")
	}
	return nil
}

// PushConfig returns the configuration of the push of a datacentre into another one, without its
// connections.
func PushConfig(c *config.Config, writer, target string) push.Config {
	l := SpendCounter(c).Layout
	return push.Config{
		DC: writer, Target: target, Partitions: l.Partitions(),
		Dataset: l.Name(events.SpendTopic(writer)), Copy: l.Name(events.CopiedSpendTopic(writer)),
		Tables: spendcounter.DatasetTables(), Health: spendcounter.TableHealth,
		App: l.Name(events.PushApp(writer, target)), State: l.Name(events.PushStateTopic(writer, target)),
		Control: l.Name(events.PushControlTopic(writer, target)), DLQ: l.Name(events.PushDLQTopic(writer, target)),
	}
}

// pushTopics returns the topics of this datacentre into which others write.
func pushTopics(c *config.Config) (topics []stream.Topic) {
	for _, writer := range c.PushWriters() {
		topics = append(topics, events.PushCatalog(writer, c.DC, SpendCounter(c).Layout)...)
	}
	return topics
}

// pushApps returns the applications that write into this datacentre: their groups and topics are in
// its Kafka, while their processes are in other datacentres.
func pushApps(c *config.Config) (apps []App, err error) {
	for _, writer := range c.PushWriters() {
		one, err := processorApp(PushConfig(c, writer, c.DC).Processor())
		if err != nil {
			return nil, err
		}
		apps = append(apps, one...)
	}
	return apps, nil
}

// pushACLs lists the rights of the push here, and in each target.
func pushACLs(c *config.Config) (lines []string, err error) {
	for n, d := range c.PushTargets() {
		m := PushConfig(c, c.DC, d.Name)
		if n == 0 {
			lines = append(lines, "--topic "+m.Dataset+" --operation Read --operation Describe")
		}
		p, err := m.Processor()
		if err != nil {
			return nil, err
		}
		lines = append(lines, "at the Kafka of "+d.Name+":")
		lines = append(lines, kafkaadmin.ACLs(p)...)
	}
	return lines, nil
}

// Bounds of the memory of one partition.
const (
	maxPushQueue  = 2 << 20   // of what is read and not committed
	maxPushReader = 256 << 10 // of what is read ahead
	minPushReader = 16 << 10
)

// pushBytes divides the share of a target: the queue of a partition, and what is read ahead of it.
func pushBytes(c *config.Config, share int64) (queue, reader int64) {
	n := int64(SpendCounter(c).Layout.Partitions())
	return min(maxPushQueue, share/4/n), max(minPushReader, min(maxPushReader, share/8/n))
}

func pushMemory(c *config.Config, share int64) Allocation {
	workers := c.Processor.Workers
	if workers == 0 {
		workers = processors.DefaultWorkers()
	}
	targets := int64(max(1, len(c.PushTargets())))
	one := share / targets
	a := runtimeAllocation(c, one, workers, one/16)
	queue, reader := pushBytes(c, one)
	n := int64(SpendCounter(c).Layout.Partitions())
	a.Uses = append(a.Uses,
		Use{"totals", queue * n, fmt.Sprintf("rows in %d partitions for each target that are read and not committed", n)},
		Use{"read ahead", reader * n, "rows that wait for their partition"},
	)
	for i := range a.Uses {
		a.Uses[i].Bytes *= targets
	}
	a.Share, a.Cache, a.WriteBuffers = share, a.Cache*targets, a.WriteBuffers*targets
	return a
}

// pushPart is the push into all targets. Each target has a runtime of its own, and is supervised
// alone.
type pushPart struct {
	targets []*pushTarget
}

// pushTarget is the push into one target.
type pushTarget struct {
	*supervisor
	registry *push.StatusRegistry
}

func newPushPart(s *Setup) (Part, error) {
	c := s.Config
	metrics := push.NewMetrics(s.Registry)
	targets := c.PushTargets()
	n := int64(max(1, len(targets)))
	queue, reader := pushBytes(c, s.Memory.Share/n)
	part := &pushPart{}
	for _, d := range targets {
		k, err := PeerKafka(d)
		if err != nil {
			return nil, err
		}
		k = s.reach(k, d.Name)
		m, registry := PushConfig(c, c.DC, d.Name), &push.StatusRegistry{}
		m.Source, m.Copies, m.QueueBytes, m.ReaderBytes = s.Kafka, k, int(queue), int(reader)
		m.Metrics, m.Registry, m.Log = metrics, registry, &s.Log
		proc, err := m.Processor()
		if err != nil {
			return nil, err
		}
		there := *s // the runtime works with the brokers of the target
		there.Kafka, there.brokers = k, &brokers{cluster: k, log: s.Log}
		there.Memory.Cache, there.Memory.WriteBuffers = s.Memory.Cache/n, s.Memory.WriteBuffers/n
		there.Topics = events.PushCatalog(c.DC, d.Name, SpendCounter(c).Layout)
		one, err := there.processor(proc, nil, func(pc *processors.Config) {
			pc.Tick, pc.BallastBytes, pc.Log = push.Tick, mirrorBallast, m.Log
			pc.StopTimeout = min(pc.StopTimeout, pushStopTimeout)
		})
		if err != nil {
			return nil, err
		}
		app := &s.API.Apps[len(s.API.Apps)-1]
		app.Tasks = pushTasks{app.Tasks, registry}
		part.targets = append(part.targets, &pushTarget{newSupervisor("push/"+d.Name, d.Name, one, s), registry})
	}
	layout := SpendCounter(c).Layout
	s.Cluster.DC, s.Cluster.Layout, s.Cluster.DCs = c.DC, &layout, c.Ring()
	return part, nil
}

// pushStopTimeout bounds the last commit in a target: what is not committed is read again.
const pushStopTimeout = 3 * time.Second

// Run implements Part.
func (p *pushPart) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range p.targets {
		g.Go(func() error { return t.Run(ctx) })
	}
	return g.Wait()
}

// Ready implements Part. The process is ready while a target does not answer, also if it is the
// only one: a rolling update must not wait for another datacentre.
func (p *pushPart) Ready(ctx context.Context) Readiness {
	r := Readiness{ReadyAlone: true}
	var waiting []string
	for _, t := range p.targets {
		one := t.supervisor.Ready(ctx)
		r.Partitions += one.Partitions
		r.Reasons = append(r.Reasons, one.Reasons...)
		r.Stopped = append(r.Stopped, one.Stopped...)
		if one.Waiting != "" {
			waiting = append(waiting, one.Waiting)
			continue
		}
		away, stopped := pushTroubles(t.registry.List())
		waiting = append(waiting, away...)
		r.AddStopped(stopped, true)
	}
	r.Waiting = strings.Join(waiting, "; ")
	return r
}

// pushTroubles returns a sentence if partitions of a target wait, and one if partitions are
// stopped.
func pushTroubles(list []push.Status) (away, stopped []string) {
	waits, stops := 0, 0
	var why, whyStopped string
	for _, s := range list {
		switch {
		case s.Stopped:
			stops, whyStopped = stops+1, s.Problem
		case s.Problem != "":
			waits, why = waits+1, s.Problem
		}
	}
	if waits > 0 {
		away = []string{fmt.Sprintf("push: %d of %d partitions into %s wait: %s", waits, len(list), list[0].Target, why)}
	}
	if stops > 0 {
		stopped = []string{fmt.Sprintf("push: %d of %d partitions into %s are stopped: %s", stops, len(list), list[0].Target, whyStopped)}
	}
	return away, stopped
}

// Advertise implements advertiser.
func (p *pushPart) Advertise(endpoint string) {
	for _, t := range p.targets {
		t.Advertise(endpoint)
	}
}

// Close implements closer.
func (p *pushPart) Close() {
	for _, t := range p.targets {
		t.Close()
	}
}

// pushTasks are the tasks of the push into one target in this process, with what they push.
type pushTasks struct {
	api.TaskSource
	registry *push.StatusRegistry
}

// Tasks implements api.TaskSource.
func (t pushTasks) Tasks(ctx context.Context) ([]*weirpb.Partition, error) {
	list, err := t.TaskSource.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	pushed := map[int32]*weirpb.PushStatus{}
	for _, s := range t.registry.List() {
		pushed[s.Partition] = pushStatus(s)
	}
	for _, p := range list {
		if p.GetState() != api.StateStandby {
			p.Push = pushed[p.GetPartition()]
		}
	}
	return list, nil
}

func pushStatus(s push.Status) *weirpb.PushStatus {
	return &weirpb.PushStatus{
		Target: s.Target, Next: s.Next, End: s.End, Lag: s.Lag(), AsOfMs: s.AsOfMs, Pushed: s.Pushed, Comparing: s.Comparing,
		Problem: s.Problem, Stopped: s.Stopped,
	}
}
