package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

const (
	// insertionProducers is the number of reports that are written at the same time.
	insertionProducers = 8
	// insertionFinish is for how long a report is written whose ad server does not wait.
	insertionFinish = 10 * time.Second
)

// insertionSink writes ads that ad servers have shown.
type insertionSink struct {
	producers [insertionProducers]*requestProducer
	next      atomic.Uint32 // of producers
	shards    int32
}

func newInsertionSink(k kafka.Cluster, l events.Layout) *insertionSink {
	s := &insertionSink{shards: l.Partitions()}
	for i := range s.producers {
		s.producers[i] = newRequestProducer(k, l.Name(events.InsertionsTopic))
		s.producers[i].finish = insertionFinish
	}
	return s
}

// Close closes the producers. Call it after the last report.
func (s *insertionSink) Close() {
	for _, p := range s.producers {
		p.close()
	}
}

// Produce implements api.InsertionSink.
func (s *insertionSink) Produce(ctx context.Context, list []*eventspb.InsertionSums) error {
	producer := s.producers[s.next.Add(1)%insertionProducers]
	return producer.produce(ctx, func(p *kafka.Producer) error {
		for _, m := range list {
			value, err := proto.Marshal(m)
			if err != nil {
				return err
			}
			if err := p.Produce(ctx, events.Shard(m.GetAccount(), s.shards), []byte(m.GetAccount()), value); err != nil {
				return err
			}
		}
		return nil
	})
}

var _ api.InsertionSink = (*insertionSink)(nil)

// insertionTails returns the tails of the ads that were shown in all datacentres: the spend is that
// of all of them, too.
func (s *Setup) insertionTails() (list []*topicTail, err error) {
	l := SpendCounter(s.Config).Layout
	add := func(k kafka.Cluster, dc string) { list = append(list, newInsertionTail(k, l, dc, s.Log)) }
	add(s.Kafka, s.Config.DC)
	for _, d := range s.Config.Peers() {
		k, err := PeerKafka(d)
		if err != nil {
			return nil, err
		}
		add(s.reach(k, d.Name), d.Name)
	}
	return list, nil
}

func newInsertionTail(k kafka.Cluster, l events.Layout, dc string, log zerolog.Logger) *topicTail {
	return newTopicTail(k, l.Name(events.InsertionsTopic), l.Partitions(), func(partition int32, err error) {
		log.Warn().Str("origin", dc).Int32("partition", partition).Err(err).Msg("insertions_unread")
	})
}

// readInsertions returns the ProcessorConfig.Insertions of some tails.
func readInsertions(list []*topicTail) func(context.Context, int32, func(*eventspb.InsertionSums)) {
	return func(ctx context.Context, partition int32, fn func(*eventspb.InsertionSums)) {
		var reading sync.WaitGroup
		for _, t := range list {
			reading.Go(func() {
				t.read(ctx, partition, func(r *logreader.Record) error {
					m := &eventspb.InsertionSums{}
					if err := proto.Unmarshal(r.Value, m); err != nil {
						err = fmt.Errorf("offset %d of %s is left out: %w: who else writes the topic?", r.Offset, t.topic, err)
						t.unread(partition, err)
						return nil
					}
					fn(m)
					return nil
				})
			})
		}
		reading.Wait()
	}
}
