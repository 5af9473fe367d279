package broker

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/internal/loadgen"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Log is a log of ad events for benchmarks. It is kept for the next run.
type Log struct {
	Events    int64
	Campaigns int
	Zipf      float64
	Active    int // campaigns that all but the first quarter are of; 0: all
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
	return fmt.Sprintf("weir.bench.%d.%d.%s", l.Events, l.Campaigns, spread)
}

// fill makes the log, unless it is there.
func (l Log) fill(ctx context.Context, e *Env) error {
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Campaigns: l.Campaigns, Zipf: l.Zipf})
	if err != nil {
		return err
	}
	then := gen
	if l.Active != 0 {
		if then, err = loadgen.NewBench(loadgen.BenchConfig{Seed: 1, Campaigns: l.Active, Zipf: l.Zipf}); err != nil {
			return err
		}
	}
	e.Notef("log: %s", l.topic())
	var buf []byte
	made := int64(0)
	return Load(ctx, e.Kafka, l.topic(), l.Events, func() (int32, []byte, []byte) {
		var r loadgen.Record
		if made++; made > l.Events/4 {
			gen = then
		}
		buf, r = gen.Append(buf[:0])
		return r.Partition, r.Key, r.Value
	})
}

// benchCounter is the spend counter over a benchmark's log alone.
func benchCounter(topic string, memory int64) (stream.Processor, error) {
	proc, err := spendcounter.ProcessorConfig{Events: topic, Memory: memory / 4}.Processor()
	proc.Inputs, proc.Outputs[0].Topic = []string{topic}, "weir.bench.health"
	return proc, err
}
