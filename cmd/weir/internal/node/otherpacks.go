package node

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// otherPacks reads how another datacentre paces campaigns, from the Kafka there. A pack is written
// again within a minute.
type otherPacks struct {
	*topicTail
	dc string
}

func newOtherPacks(dc string, k kafka.Cluster, l events.Layout, log zerolog.Logger) otherPacks {
	unread := func(partition int32, err error) {
		log.Warn().Str("peer", dc).Int32("partition", partition).Err(err).Msg("other_packs_unread")
	}
	return otherPacks{newTopicTail(k, l.Name(events.PacingTopic(dc)), l.Partitions(), unread), dc}
}

// otherPacks returns those of all other datacentres.
func (s *Setup) otherPacks() (list []otherPacks, err error) {
	for _, d := range s.Config.Peers() {
		k, err := PeerKafka(d)
		if err != nil {
			return nil, err
		}
		list = append(list, newOtherPacks(d.Name, s.reach(k, d.Name), SpendCounter(s.Config).Layout, s.Log))
	}
	return list, nil
}

// readOtherPacks returns the ProcessorConfig.OtherPacks of some datacentres, nil for none.
func readOtherPacks(list []otherPacks) func(context.Context, int32, func(*eventspb.AccountPack)) {
	if len(list) == 0 {
		return nil
	}
	return func(ctx context.Context, partition int32, fn func(*eventspb.AccountPack)) {
		var reading sync.WaitGroup
		for _, o := range list {
			reading.Go(func() {
				o.read(ctx, partition, func(r *logreader.Record) error { return o.take(r, fn) })
			})
		}
		reading.Wait()
	}
}

// take calls fn with the pack of a record, if the record has one.
func (o otherPacks) take(r *logreader.Record, fn func(*eventspb.AccountPack)) error {
	if len(r.Key) == 0 || r.Key[0] != pacing.TablePacks || r.Value == nil {
		return nil
	}
	m := &eventspb.AccountPack{}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return fmt.Errorf("%w: is the topic written by pacing?", err)
	}
	m.WriterDc = o.dc
	fn(m)
	return nil
}
