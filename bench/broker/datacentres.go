package broker

import (
	"context"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
)

// benchPeers returns the datacentres whose events the benchmark of several datacentres copies.
func benchPeers() []string { return []string{"ap", "sa", "us"} }

// Datacentres measures the counter with the events of one datacentre, and with as many events of
// four: the own ones and copies, as the mirror writes them.
func (s *Suite) Datacentres(ctx context.Context, e *Env) ([]Figure, error) {
	if err := s.Log.fill(ctx, e); err != nil {
		return nil, err
	}
	four := s.Log
	four.datacentres = 1 + len(benchPeers())
	if err := four.fillCopies(ctx, e); err != nil {
		return nil, err
	}
	kinds := []struct {
		name  string
		log   Log
		peers []string
		rates []float64
	}{{name: "1 datacentre", log: s.Log}, {name: "4 datacentres", log: four, peers: benchPeers()}}
	for round := range s.Rounds {
		for i := range kinds {
			k := &kinds[i]
			proc, err := benchCounter(k.log.topic(), e.Memory, k.peers...)
			if err != nil {
				return nil, err
			}
			r, err := Fold(ctx, e.config(), proc, s.Log.Events/4, s.Log.Events)
			if err != nil {
				return nil, err
			}
			e.Notef("round %d: %s: %.2f M/s", round+1, k.name, r.PerSec/1e6)
			k.rates = append(k.rates, r.PerSec)
		}
	}
	var rows []Figure
	for _, k := range kinds {
		rows = append(rows, newFigure(k.name, "events/s", k.rates))
	}
	return ratios(rows), nil
}

// fillCopies creates the topics of a log of several datacentres if they do not exist: the events of
// the own one, and as many copies of each other one.
func (l Log) fillCopies(ctx context.Context, e *Env) error {
	const perMs = 1000 // events per millisecond of event time in a log of one datacentre
	share := l.Events / int64(l.datacentres)
	for i := range l.datacentres {
		n, topic := share, l.topic()
		if i == 0 {
			n = l.Events - share*int64(l.datacentres-1)
		} else {
			topic += ".from." + benchPeers()[i-1]
		}
		gen, err := loadgen.NewBench(loadgen.BenchConfig{
			Seed: uint64(i), Campaigns: l.Campaigns, Zipf: l.Zipf, PerMs: perMs / l.datacentres,
		})
		if err != nil {
			return err
		}
		e.Notef("log: %s", topic)
		if err := Load(ctx, e.Kafka, topic, n, copies(gen, i > 0)); err != nil {
			return err
		}
	}
	return nil
}

// copies returns the events of gen, with the origin header of copies if copied.
func copies(gen *loadgen.Bench, copied bool) Source {
	var buf, origin []byte
	next := map[int32]int64{}
	return func() Record {
		var r loadgen.Record
		buf, r = gen.Append(buf[:0])
		rec := Record{Partition: r.Partition, Key: r.Key, Value: r.Value}
		if copied {
			at := next[r.Partition]
			next[r.Partition]++
			origin = events.AppendOrigin(origin[:0], events.Origin{Partition: r.Partition, Offset: at, Previous: at - 1})
			rec.Origin = origin
		}
		return rec
	}
}
