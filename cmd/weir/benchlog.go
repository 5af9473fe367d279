package main

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/internal/loadgen"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// benchLog is a log of ad events for benchmarks. It is kept for the next run.
type benchLog struct {
	events    int64
	campaigns int
	zipf      float64
	active    int // campaigns that all but the first quarter are of; 0: all
}

func (l benchLog) keys() string {
	if l.active != 0 {
		return fmt.Sprintf("%d, %d active", l.campaigns, l.active)
	}
	if l.zipf == loadgen.Even {
		return fmt.Sprintf("%d even", l.campaigns)
	}
	return fmt.Sprintf("%d zipf-%g", l.campaigns, l.zipf)
}

func (l benchLog) topic() string {
	spread := "even"
	if l.zipf != loadgen.Even {
		spread = fmt.Sprintf("zipf-%g", l.zipf)
	}
	if l.active != 0 {
		spread += fmt.Sprintf(".active-%d", l.active)
	}
	return fmt.Sprintf("weir.bench.%d.%d.%s", l.events, l.campaigns, spread)
}

// fill makes the log, unless it is there.
func (l benchLog) fill(ctx context.Context, e *benchEnv) error {
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Campaigns: l.campaigns, Zipf: l.zipf})
	if err != nil {
		return err
	}
	then := gen
	if l.active != 0 {
		if then, err = loadgen.NewBench(loadgen.BenchConfig{Seed: 1, Campaigns: l.active, Zipf: l.zipf}); err != nil {
			return err
		}
	}
	e.notef("log: %s", l.topic())
	var buf []byte
	made := int64(0)
	return broker.Load(ctx, e.kafka, l.topic(), l.events, func() (int32, []byte, []byte) {
		var r loadgen.Record
		if made++; made > l.events/4 {
			gen = then
		}
		buf, r = gen.Append(buf[:0])
		return r.Partition, r.Key, r.Value
	})
}

// benchCounter is the spend counter over a benchmark's log alone.
func benchCounter(topic string, memory int64) (stream.Processor, error) {
	proc, err := spendcounter.ProcessorConfig{Events: topic, Memory: memory / 4}.Processor()
	proc.Inputs, proc.Outputs = []string{topic}, []string{"weir.bench.health"}
	return proc, err
}
