package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/mirror"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func mirrorRole() Role {
	return Role{
		Name: "mirror", Group: spendGroup(),
		Summary: "copies events, adjustments and budgets of the other datacentres (dcs) to this one",
		Weight:  2, Memory: mirrorMemory,
		Topics: mirrorTopics, Apps: mirrorApps, ACLs: mirrorACLs, Doctor: checkDatacentres,
		Settings: []string{"dc", "dcs"}, Check: checkPeers,
		Remote: func(c *config.Config) string { return strings.Join(c.PeerNames(), ", ") },
		New:    newMirrorPart,
	}
}

// checkPeers returns an error if there is no other datacentre.
func checkPeers(c *config.Config) error {
	if len(c.Peers()) == 0 {
		return errors.New(
			"dcs has no other datacentre, so there is nothing to copy: list all datacentres, or run the role spendcounter alone")
	}
	return nil
}

// MirrorConfig returns the configuration of the mirror without its connections.
func MirrorConfig(c *config.Config) mirror.Config {
	l := SpendCounter(c).Layout
	topic := func(first string, copied func(dc string, l events.Layout) stream.Topic) mirror.Topic {
		return mirror.Topic{Name: l.Name(first), Copy: func(dc string) stream.Topic { return copied(dc, l) }}
	}
	m := mirror.Config{
		DC: c.DC, Partitions: l.Partitions(), Heartbeats: l.Name(events.EventsTopic),
		App: l.Name(events.MirrorApp), State: l.Name(events.MirrorStateTopic), Control: l.Name(events.MirrorControlTopic),
		DLQ: l.Name(events.MirrorDLQTopic),
		Topics: []mirror.Topic{
			topic(events.EventsTopic, events.CopiedEvents), topic(events.AdjustmentsTopic, events.CopiedAdjustments),
			topic(events.BudgetsTopic, func(from string, l events.Layout) stream.Topic { return events.CopiedBudgets(c.DC, from, l) }),
		},
	}
	for _, d := range c.Peers() {
		m.Peers = append(m.Peers, mirror.Peer{DC: d.Name, BytesPerSecond: int(d.Rate)})
	}
	return m
}

// mirrorTopics returns the topics that the mirror reads and writes in this datacentre; none without
// another datacentre.
func mirrorTopics(c *config.Config) (topics []stream.Topic) {
	if len(c.Peers()) == 0 {
		return nil
	}
	counter := SpendCounter(c)
	topics = events.MirrorCatalog(counter.Layout)
	for _, t := range append(counter.Topics(), Pacing(c).Topics()...) {
		if writtenByMirror(c, t.Name) {
			topics = append(topics, t)
		}
	}
	return topics
}

// writtenByMirror reports whether the mirror writes copies or heartbeats to a topic.
func writtenByMirror(c *config.Config, topic string) bool {
	m := MirrorConfig(c)
	if topic == m.Heartbeats {
		return true
	}
	for _, t := range m.Topics {
		for _, p := range m.Peers {
			if t.Copy(p.DC).Name == topic {
				return true
			}
		}
	}
	return false
}

// mirrorApps returns the application of the mirror; none without another datacentre.
func mirrorApps(c *config.Config) ([]App, error) {
	if len(c.Peers()) == 0 {
		return nil, nil
	}
	// A replay would not give the same state: the mirror reads other datacentres.
	return processorApp(MirrorConfig(c).Processor())
}

// mirrorACLs lists the rights of the mirror here, and at each other datacentre.
func mirrorACLs(c *config.Config) ([]string, error) {
	if len(c.Peers()) == 0 {
		return nil, nil
	}
	m := MirrorConfig(c)
	p, err := m.Processor()
	if err != nil {
		return nil, err
	}
	lines := kafkaadmin.ACLs(p)
	lines = append(lines, "to notice that another datacentre has the brokers of this one, in addition:")
	for _, t := range m.Topics {
		lines = append(lines, "--topic "+t.Name+" --operation Describe")
	}
	for _, dc := range c.PeerNames() {
		lines = append(lines, "at the Kafka of "+dc+":")
		for _, t := range m.Topics {
			lines = append(lines, "--topic "+t.Name+" --operation Read --operation Describe")
		}
	}
	return lines, nil
}

// Bounds of the memory of one partition.
const (
	maxMirrorQueue  = 2 << 20   // of what is read and not committed
	maxMirrorReader = 256 << 10 // of what is read ahead of one partition of one topic of one datacentre
	minMirrorReader = 16 << 10
)

// mirrorBytes divides the share of the role: the queue of a partition, and that of a partition of a
// topic of another datacentre.
func mirrorBytes(c *config.Config, share int64) (queue, reader int64) {
	m := MirrorConfig(c)
	n := int64(m.Partitions)
	readers := n * int64(max(1, len(m.Peers)*len(m.Topics)))
	return min(maxMirrorQueue, share/4/n), max(minMirrorReader, min(maxMirrorReader, share/8/readers))
}

func mirrorMemory(c *config.Config, share int64) Allocation {
	workers := c.Processor.Workers
	if workers == 0 {
		workers = processors.DefaultWorkers()
	}
	a := runtimeAllocation(c, share, workers, share/16)
	m := MirrorConfig(c)
	queue, reader := mirrorBytes(c, share)
	n := int64(m.Partitions)
	a.Uses = append(a.Uses,
		Use{"copies", queue * n, fmt.Sprintf("records in %d partitions that are read and not committed", n)},
		Use{
			"read ahead", reader * n * int64(len(m.Peers)*len(m.Topics)),
			fmt.Sprintf("records of %d other datacentres that wait for their partition", len(m.Peers)),
		},
	)
	return a
}

// mirrorPart is the mirror.
type mirrorPart struct {
	processorPart
	registry *mirror.StatusRegistry
}

func newMirrorPart(s *Setup) (Part, error) {
	c := s.Config
	m := MirrorConfig(c)
	for i, d := range c.Peers() {
		k, err := PeerKafka(d)
		if err != nil {
			return nil, err
		}
		m.Peers[i].Kafka = s.reach(k, d.Name)
	}
	queue, reader := mirrorBytes(c, s.Memory.Share)
	registry := &mirror.StatusRegistry{}
	m.Own, m.QueueBytes, m.ReaderBytes = s.Kafka, int(queue), int(reader)
	m.Metrics, m.Registry, m.Log = mirror.NewMetrics(s.Registry), registry, &s.Log
	proc, err := m.Processor()
	if err != nil {
		return nil, err
	}
	part, err := s.processor(proc, nil, func(pc *processors.Config) { pc.Tick, pc.BallastBytes = mirror.Tick, mirrorBallast })
	if err != nil {
		return nil, err
	}
	layout := SpendCounter(c).Layout
	s.Cluster.DC, s.Cluster.Layout, s.Cluster.DCs = c.DC, &layout, c.Ring()
	app := &s.API.Apps[len(s.API.Apps)-1]
	app.Tasks = mirrorTasks{app.Tasks, registry}
	return &mirrorPart{part, registry}, nil
}

// mirrorBallast is the size of the file that the runtime removes when the disk is full: the state
// has a few rows for each partition.
const mirrorBallast = 16 << 20

// Ready implements Part. The process is ready while a datacentre does not answer, also if it is the
// only one: the tasks run, and a rolling update must not wait for another datacentre.
func (p *mirrorPart) Ready(ctx context.Context) Readiness {
	r := p.processorPart.Ready(ctx)
	away, stopped := peersAway(p.registry.List())
	r.Waiting = strings.Join(away, "; ")
	r.AddStopped(stopped, true)
	return r
}

// peersAway returns a sentence for each datacentre of which partitions wait, and one for each topic
// with partitions that are stopped. list is ordered by datacentre and topic.
func peersAway(list []mirror.Status) (away, stopped []string) {
	type group struct {
		text       string
		n, of      int
		why, topic string
	}
	var peers, topics []group
	for _, s := range list {
		if n := len(peers); n == 0 || peers[n-1].text != s.Peer {
			peers = append(peers, group{text: s.Peer})
		}
		if n := len(topics); n == 0 || topics[n-1].text != s.Peer || topics[n-1].topic != s.Topic {
			topics = append(topics, group{text: s.Peer, topic: s.Topic})
		}
		peer, topic := &peers[len(peers)-1], &topics[len(topics)-1]
		peer.of, topic.of = peer.of+1, topic.of+1
		switch {
		case s.Stopped:
			topic.n, topic.why = topic.n+1, s.Problem
		case s.Problem != "":
			peer.n, peer.why = peer.n+1, s.Problem
		}
	}
	for _, g := range peers {
		if g.n > 0 {
			away = append(away, fmt.Sprintf("mirror: %d of %d partitions of %s wait: %s", g.n, g.of, g.text, g.why))
		}
	}
	for _, g := range topics {
		if g.n > 0 {
			stopped = append(stopped,
				fmt.Sprintf("mirror: %d of %d partitions of %s of %s are stopped: %s", g.n, g.of, g.topic, g.text, g.why))
		}
	}
	return away, stopped
}

// mirrorTasks are the tasks of the mirror in this process, with what they copy.
type mirrorTasks struct {
	api.TaskSource
	registry *mirror.StatusRegistry
}

// Tasks implements api.TaskSource.
func (t mirrorTasks) Tasks(ctx context.Context) ([]*weirpb.Partition, error) {
	list, err := t.TaskSource.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	copies := map[int32][]*weirpb.CopyStatus{}
	for _, s := range t.registry.List() {
		copies[s.Partition] = append(copies[s.Partition], copyStatus(s))
	}
	for _, p := range list {
		if p.GetState() != api.StateStandby {
			p.Copies = copies[p.GetPartition()]
		}
	}
	return list, nil
}

func copyStatus(s mirror.Status) *weirpb.CopyStatus {
	out := &weirpb.CopyStatus{
		Dc: s.Peer, Topic: s.Topic, Next: s.Next, End: s.End, Lag: s.Lag(), LagMs: s.LagMs, LastMs: s.LastMs, Copied: s.Copied,
		Problem: s.Problem, Stopped: s.Stopped,
	}
	if s.Resume != nil {
		out.Resume = &weirpb.CopyResume{Next: s.Resume.To, TopicId: s.Resume.TopicID.String(), Recreated: s.Recreated}
	}
	return out
}
