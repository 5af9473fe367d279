//go:build synctests

package mirror

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

const partitions = 4

// fixture is the datacentre eu, whose processes copy the topics "events" and "refunds" of two
// peers.
type fixture struct {
	*testing.T
	k       *processorstest.Harness
	peers   map[string]*processorstest.Remote
	adjust  func(*Config)
	made    int // records
	procs   map[string]*process
	without map[string]bool // topics of copies that check leaves out
	mutate  func(*position) // what a source finds instead of its position; nil: nothing else
}

// process is a process, its links to the peers and what it reports.
type process struct {
	*processorstest.Process
	links    map[string]processorstest.RemoteLink
	registry *StatusRegistry
}

func topicsCopied() []Topic {
	name := func(topic string) Topic {
		return Topic{Name: topic, Copy: func(dc string) stream.Topic { return stream.Topic{Name: topic + ".from." + dc} }}
	}
	return []Topic{name("events"), name("refunds")}
}

// inRuntime runs f with mirrors in the real runtime, on fake brokers, and returns what the checks
// of the runtime and of the copies found.
func inRuntime(t *testing.T, seed uint64, adjust func(*Config), f func(x *fixture)) error {
	t.Helper()
	x := &fixture{adjust: adjust, peers: map[string]*processorstest.Remote{}, procs: map[string]*process{}, without: map[string]bool{}}
	p := x.processor(&process{})
	// The outputs of a mirror depend on more than its input topic, so they cannot be refolded.
	o := processorstest.Options{Processor: p, Config: processors.Config{Tick: Tick}, Seed: seed, NoRefold: true, Topics: []string{"events.from.us2", "refunds.from.us2"}}
	var wrong error
	err := processorstest.CheckRun(t, o, func(t *testing.T, k *processorstest.Harness) {
		x.T, x.k = t, k
		for _, dc := range []string{"us", "ap"} {
			x.peers[dc] = processorstest.NewRemote(t, partitions, "events", "refunds")
		}
		f(x)
		wrong = x.check()
	})
	if err == nil {
		err = wrong
	}
	return err
}

// processor returns the processor of a process.
func (x *fixture) processor(p *process) stream.Processor {
	c := Config{DC: "eu", Topics: topicsCopied(), Partitions: partitions, Heartbeats: "own", Registry: p.registry}
	for _, dc := range []string{"us", "ap"} {
		c.Peers = append(c.Peers, Peer{DC: dc, Kafka: p.links[dc].Kafka})
	}
	if x.adjust != nil {
		x.adjust(&c)
	}
	made, err := c.Processor()
	if err != nil {
		panic(err)
	}
	return made
}

func (x *fixture) start(name string) *process {
	p := &process{links: map[string]processorstest.RemoteLink{}, registry: &StatusRegistry{}}
	for dc, r := range x.peers {
		p.links[dc] = r.Link()
	}
	made := x.processor(p)
	if x.mutate != nil {
		made = mutated(made, x.mutate)
	}
	p.Process = x.k.StartWith(name, processors.Config{Tick: Tick}, made)
	x.procs[name] = p
	return p
}

// message returns a record that differs from all others.
func (x *fixture) message() stream.Message {
	x.made++
	m := stream.Message{Value: fmt.Appendf(nil, "value %d", x.made), TimeMs: 1_700_000_000_000 + int64(x.made)}
	if x.made%3 > 0 {
		m.Key = fmt.Appendf(nil, "key %d", x.made%7)
	}
	for n := range x.made % 4 {
		m.Headers = append(m.Headers, stream.Header{Key: fmt.Sprint("h", n), Value: fmt.Append(nil, x.made)})
	}
	return m
}

func (x *fixture) messages(n int) (list []stream.Message) {
	for range n {
		list = append(list, x.message())
	}
	return list
}

// check waits until the copies are as many as the records, or for a minute, and compares them.
func (x *fixture) check() error {
	var wrong []string
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		wrong = nil
		for dc, r := range x.peers {
			for _, topic := range topicsCopied() {
				if x.without[topic.Copy(dc).Name] {
					continue
				}
				source, copies := r.Records(topic.Name), processorstest.ByPartition(x.k.Records(topic.Copy(dc).Name))
				for p := range int32(partitions) {
					for _, w := range judge(p, source[p], copies[p]) {
						wrong = append(wrong, topic.Copy(dc).Name+": "+w)
					}
				}
			}
		}
		if len(wrong) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%q", wrong)
		}
	}
}

// status returns the status of a partition in the process that copies it.
func (x *fixture) status(dc, topic string, partition int32) (s Status, found bool) {
	for _, p := range x.procs {
		for _, s := range p.registry.List() {
			if s.Peer == dc && s.Topic == topic && s.Partition == partition {
				return s, true
			}
		}
	}
	return s, false
}

// awaitStatus waits for a status that holds.
func (x *fixture) awaitStatus(dc, topic string, partition int32, what string, holds func(Status) bool) Status {
	x.Helper()
	var s Status
	x.k.WaitFor(what, 3*time.Minute, func() bool {
		var found bool
		s, found = x.status(dc, topic, partition)
		return found && holds(s)
	})
	return s
}

func (x *fixture) instruct(partition int32, i Instruction) {
	x.Helper()
	value, err := json.Marshal(i)
	if err != nil {
		x.Fatal(err)
	}
	x.k.Produce(events.MirrorControlTopic, partition, "", string(value))
}

// heartbeats returns the number of heartbeats of a partition, and the greatest time between two.
func (x *fixture) heartbeats(partition int32) (n int, gap time.Duration) {
	last := int64(0)
	for _, r := range processorstest.ByPartition(x.k.Records("own"))[partition] {
		var e eventspb.AdEvent
		if err := proto.Unmarshal(r.Value, &e); err != nil || e.Type != eventspb.EventType_EVENT_TYPE_HEARTBEAT || e.ServingDc != "eu" {
			x.Fatalf("%v, error %v", &e, err)
		}
		if n++; last > 0 {
			gap = max(gap, time.Duration(e.IngestMs-last)*time.Millisecond)
		}
		last = e.IngestMs
	}
	return n, gap
}
