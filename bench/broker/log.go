package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Log is a topic of generated ad events. It is kept for later runs.
type Log struct {
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
	return fmt.Sprintf("weir.bench.%d.%d.%s", l.Events, l.Campaigns, spread)
}

// fill creates the log if it does not exist.
func (l Log) fill(ctx context.Context, e *Env) error {
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Campaigns: l.Campaigns, Zipf: l.Zipf})
	if err != nil {
		return err
	}
	later := gen
	if l.Active != 0 {
		if later, err = loadgen.NewBench(loadgen.BenchConfig{Seed: 1, Campaigns: l.Active, Zipf: l.Zipf}); err != nil {
			return err
		}
	}
	e.Notef("log: %s", l.topic())
	var buf []byte
	made := int64(0)
	return Load(ctx, e.Kafka, l.topic(), l.Events, func() Record {
		var r loadgen.Record
		if made++; made > l.Events/4 {
			gen = later
		}
		buf, r = gen.Append(buf[:0])
		return Record{Partition: r.Partition, Key: r.Key, Value: r.Value}
	})
}

// benchCounter returns the spend counter with the log of a benchmark, and copies of peers, as its
// only inputs. Its outputs are topics of the benchmark: those of the counter may be in use on these
// brokers.
func benchCounter(topic string, memory int64, peers ...string) (stream.Processor, error) {
	proc, err := spendcounter.ProcessorConfig{Events: topic, Memory: memory / 4, Peers: peers}.Processor()
	proc.Inputs = slices.DeleteFunc(proc.Inputs, func(input string) bool { return !strings.HasPrefix(input, topic) })
	for i := range proc.Outputs {
		proc.Outputs[i].Topic = "weir.bench." + proc.Outputs[i].Name
	}
	return proc, err
}
