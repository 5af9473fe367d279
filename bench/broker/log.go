package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Log is a topic of generated ad events. It is kept for later runs.
type Log struct {
	Name      string // of the topic. Defaults to a name of the other fields
	Events    int64
	Campaigns int
	Zipf      float64
	Active    int // number of campaigns in all but the first quarter of the events; 0 means Campaigns

	datacentres int // that have an equal part of the events in a topic each; 0 means one
}

func (l Log) keys() string {
	if l.Active != 0 {
		return fmt.Sprintf("%d, %d active", l.Campaigns, l.Active)
	}
	if l.Zipf == loadgen.Even {
		return fmt.Sprintf("%d even", l.Campaigns)
	}
	return fmt.Sprintf("%d zipf-%g", l.Campaigns, l.Zipf)
}

func (l Log) topic() string {
	if l.Name != "" {
		return l.Name
	}
	spread := "even"
	if l.Zipf != loadgen.Even {
		spread = fmt.Sprintf("zipf-%g", l.Zipf)
	}
	if l.Active != 0 {
		spread += fmt.Sprintf(".active-%d", l.Active)
	}
	if l.datacentres != 0 {
		spread += fmt.Sprintf(".datacentres-%d", l.datacentres)
	}
	return fmt.Sprintf("weir.bench.%d.%d.%s.%s", l.Events, l.Campaigns, spread, events.EventsTopic)
}

// peers returns the datacentres whose events the log has copies of.
func (l Log) peers() []string { return []string{"ap", "sa", "us"}[:max(l.datacentres, 1)-1] }

// Fill creates the log if it does not exist: one topic, or those of several datacentres, which are
// the events of the own one and as many copies of each peer.
func (l Log) Fill(ctx context.Context, e *Env) error {
	parts := append([]string{""}, l.peers()...)
	share := l.Events / int64(len(parts))
	for i, peer := range parts {
		n, topic := share, l.topic()
		if peer == "" {
			n = l.Events - share*int64(len(parts)-1)
		} else {
			topic += ".from." + peer
		}
		src, err := l.source(i, len(parts))
		if err != nil {
			return err
		}
		e.Notef("log: %s", topic)
		if err := Load(ctx, e.Kafka, topic, n, src); err != nil {
			return err
		}
	}
	return nil
}

// source returns the events of one of some parts. Those of the first part have no origin.
func (l Log) source(part, parts int) (Source, error) {
	const perMs = 1000 // events per millisecond of event time, in all parts
	seed := uint64(part)
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Seed: seed, Campaigns: l.Campaigns, Zipf: l.Zipf, PerMs: perMs / parts})
	if err != nil {
		return nil, err
	}
	later := gen
	if l.Active != 0 {
		later, err = loadgen.NewBench(loadgen.BenchConfig{Seed: seed + 1, Campaigns: l.Active, Zipf: l.Zipf, PerMs: perMs / parts})
		if err != nil {
			return nil, err
		}
	}
	var buf, origin []byte
	made, next := int64(0), map[int32]int64{}
	return func() Record {
		var r loadgen.Record
		if made++; made > l.Events/4 {
			gen = later
		}
		buf, r = gen.Append(buf[:0])
		rec := Record{Partition: r.Partition, Key: r.Key, Value: r.Value}
		if part > 0 {
			at := next[r.Partition]
			next[r.Partition]++
			origin = events.AppendOrigin(origin[:0], events.Origin{Partition: r.Partition, Offset: at, Previous: at - 1})
			rec.Origin = origin
		}
		return rec
	}, nil
}

// benchCounter returns the spend counter with the log of a benchmark, and copies of peers, as its
// only inputs. The log has the name of a topic of events with a prefix, and so have its outputs:
// those without it may be in use on these brokers.
func benchCounter(topic string, memory int64, peers ...string) (stream.Processor, error) {
	proc, err := spendcounter.ProcessorConfig{
		Layout: events.Layout{Prefix: strings.TrimSuffix(topic, events.EventsTopic)}, Memory: memory / 4, Peers: peers,
	}.Processor()
	proc.Inputs = slices.DeleteFunc(proc.Inputs, func(input string) bool { return !strings.HasPrefix(input, topic) })
	return proc, err
}
