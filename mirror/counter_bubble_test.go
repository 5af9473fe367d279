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
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// countedTopics returns the topics whose copies the spend counter reads.
func countedTopics(shards int32) []Topic {
	l := events.Layout{Shards: shards}
	return []Topic{
		{Name: events.EventsTopic, Copy: func(dc string) stream.Topic { return events.CopiedEvents(dc, l) }},
		{Name: events.AdjustmentsTopic, Copy: func(dc string) stream.Topic { return events.CopiedAdjustments(dc, l) }},
	}
}

// TestCounterOfCopies: the mirror and the spend counter of the datacentre eu are killed at every
// failpoint, while us takes events and adjustments, with aborted transactions. The counter has each
// event and each adjustment once, and lacks none.
func TestCounterOfCopies(t *testing.T) {
	const shards = 2
	counter, err := spendcounter.ProcessorConfig{DC: "eu", Peers: []string{"us"}, Layout: events.Layout{Shards: shards}}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	copier := func(l processorstest.RemoteLink) stream.Processor {
		c := Config{DC: "eu", Partitions: shards, Heartbeats: events.EventsTopic, Peers: []Peer{{DC: "us", Kafka: l.Kafka}}, Topics: countedTopics(shards)}
		p, err := c.Processor()
		if err != nil {
			panic(err)
		}
		return p
	}
	cfg := processors.Config{Tick: Tick}
	o := processorstest.Options{Processor: counter, Config: cfg, Seed: 5, NoRefold: true}
	err = processorstest.CheckRun(t, o, func(t *testing.T, k *processorstest.Harness) {
		copies := k.AddProcessor(processorstest.Options{Processor: copier(processorstest.RemoteLink{}), Config: cfg, NoRefold: true})
		us := processorstest.NewRemote(t, shards, events.EventsTopic, events.AdjustmentsTopic)
		start := map[string]func() *processorstest.Process{
			"counter": func() *processorstest.Process { return k.Start("counter") },
			"mirror":  func() *processorstest.Process { return copies.StartWith("mirror", cfg, copier(us.Link())) },
		}
		procs := map[string]*processorstest.Process{"counter": start["counter"](), "mirror": start["mirror"]()}
		sent := 0
		for _, failpoint := range processorstest.Failpoints() {
			for name := range procs {
				procs[name].KillAt(failpoint)
				for range 5 {
					sent++
					us.Produce(events.EventsTopic, shardOf(sent), eventOf(t, sent))
					us.Produce(events.AdjustmentsTopic, shardOf(sent), adjustmentOf(t, sent))
					us.Abort("us", events.EventsTopic, shardOf(sent), eventOf(t, -sent))
					time.Sleep(200 * time.Millisecond)
				}
				procs[name].Kill()
				procs[name] = start[name]()
			}
		}
		k.CaughtUp()
		copies.CaughtUp()
		n := int64(sent)
		want := counted{events: uint64(n), refunds: uint64(n), micros: 10 * n, refundedMicros: 3 * n}
		k.WaitFor("everything is counted", 3*time.Minute, func() bool { c := totals(t, k); return c.events >= want.events && c.refunds >= want.refunds })
		time.Sleep(10 * time.Second)
		if got := totals(t, k); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCounterAfterLoss: the brokers of us lose events that were copied and counted, and take others
// at their offsets. The counter has the lost ones, and once each of the others.
func TestCounterAfterLoss(t *testing.T) {
	const shards = 2
	counter, err := spendcounter.ProcessorConfig{DC: "eu", Peers: []string{"us"}, Layout: events.Layout{Shards: shards}}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	var registry *StatusRegistry
	copier := func(l processorstest.RemoteLink) stream.Processor {
		registry = &StatusRegistry{}
		c := Config{DC: "eu", Partitions: shards, Registry: registry, Peers: []Peer{{DC: "us", Kafka: l.Kafka}}, Topics: countedTopics(shards)}
		p, err := c.Processor()
		if err != nil {
			panic(err)
		}
		return p
	}
	cfg := processors.Config{Tick: Tick}
	o := processorstest.Options{Processor: counter, Config: cfg, Seed: 5, NoRefold: true}
	err = processorstest.CheckRun(t, o, func(t *testing.T, k *processorstest.Harness) {
		copies := k.AddProcessor(processorstest.Options{Processor: copier(processorstest.RemoteLink{}), Config: cfg, NoRefold: true})
		topics := []string{events.EventsTopic, events.AdjustmentsTopic}
		us, after := processorstest.NewRemote(t, shards, topics...), processorstest.NewRemote(t, shards, topics...)
		after.Replaces(us, topics...)
		k.Start("counter")
		p := copies.StartWith("mirror", cfg, copier(us.Link()))
		send := func(r *processorstest.Remote, list ...int) {
			for _, n := range list {
				r.Produce(events.EventsTopic, shardOf(n), eventOf(t, n))
			}
		}
		counts := func(n uint64) {
			t.Helper()
			k.WaitFor("all is copied", time.Minute, func() bool { return len(k.Records(events.CopiedEventsTopic("us"))) == int(n) })
			k.CaughtUp()
			time.Sleep(5 * time.Second)
			if got, want := totals(t, k), (counted{events: n, micros: 10 * int64(n)}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		send(us, 1, 2, 4, 6, 8, 10) // event 1 is in another partition
		counts(6)
		copies.CaughtUp()
		p.Stop()
		send(after, 1, 2, 4, 6)
		after.Lost(events.EventsTopic, 0, 3)
		send(after, 12, 14, 16, 18)
		copies.StartWith("mirror", cfg, copier(after.Link()))
		var s Status
		k.WaitFor("the copy stops", time.Minute, func() bool {
			for _, s = range registry.List() {
				if s.Stopped {
					return true
				}
			}
			return false
		})
		s.Resume.Who, s.Resume.Why, s.Resume.AtMs = "op", "test", 1
		value, err := json.Marshal(s.Resume)
		if err != nil {
			t.Fatal(err)
		}
		k.Produce(events.MirrorControlTopic, 0, "", string(value))
		counts(10)
	})
	if err != nil {
		t.Error(err)
	}
}

// accountOf returns the account of event n: one in each shard.
func accountOf(n int) string {
	for i := 0; ; i++ {
		if account := fmt.Sprint("account ", i); events.Shard(account, 2) == shardOf(n) {
			return account
		}
	}
}

func shardOf(n int) int32 { return int32(n & 1) }

func eventOf(t *testing.T, n int) stream.Message {
	t.Helper()
	now := time.Now().UnixMilli()
	return messageOf(t, &eventspb.AdEvent{
		Type: eventspb.EventType_EVENT_TYPE_CLICK, EventId: fmt.Sprint(n), Account: accountOf(n), Campaign: "c", PriceMicros: 10, Currency: "USD",
		EventMs: now, IngestMs: now, BudgetDay: 20000101, ServingDc: "us",
	})
}

func adjustmentOf(t *testing.T, n int) stream.Message {
	t.Helper()
	return messageOf(t, &eventspb.Adjustment{
		ReferenceId: fmt.Sprint(n), Account: accountOf(n), Campaign: "c", Micros: 3, Currency: "USD", BudgetDay: 20000101, ServingDc: "us", IngestMs: time.Now().UnixMilli(),
	})
}

func messageOf(t *testing.T, m proto.Message) stream.Message {
	t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Message{Value: value}
}

// totals sums the task records of all shards. Origins has the sums of us alone.
func totals(t *testing.T, k *processorstest.Harness) (sum counted) {
	t.Helper()
	for p := range int32(2) {
		s, err := spendcounter.ParseTask(k.State(p, spendcounter.TableTask)[spendcounter.TaskKey])
		if err != nil {
			t.Fatal(err)
		}
		sum.refunds, sum.refundedMicros, sum.duplicates = sum.refunds+s.Refunds, sum.refundedMicros+s.RefundedMicros, sum.duplicates+s.Duplicates
		for _, o := range s.Origins {
			if o.Dc == "us" {
				sum.events, sum.micros = sum.events+o.Count, sum.micros+o.Micros
				sum.wrong += o.Lost + o.Rejected + o.TransportDuplicates
			}
		}
	}
	return sum
}

// counted is what the counter has of the records of us.
type counted struct {
	events, refunds, duplicates, wrong uint64 // wrong: lost, rejected, or arrived again
	micros, refundedMicros             int64
}
