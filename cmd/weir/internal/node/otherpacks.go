package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// otherPacks reads how another datacentre paces campaigns, from the Kafka there. What it reads is
// written again within a minute. So it keeps no position, begins at the end of the log, and begins
// there again after an error. No other work waits for it.
type otherPacks struct {
	dc     string
	kafka  kafka.Cluster
	topic  string
	shards int
	log    zerolog.Logger
	reader *logreader.Reader // of all partitions
	unread minute

	asking chan struct{} // has a token while the brokers are asked
	askAt  time.Time     // of the last answer or error
	ends   logreader.Extents
	failed error // in place of ends
}

const (
	// packReaderBytes bounds what is read ahead of a partition.
	packReaderBytes = 64 << 10
	// packFetchBytes bounds one fetch of a broker.
	packFetchBytes = 1 << 20
	// packBatchBytes is the size of what is read at once.
	packBatchBytes = 64 << 10
	// packRetry is the time until the brokers are asked again after an error.
	packRetry = 10 * time.Second
	// packAsk bounds a question to the brokers, and is the greatest age of its answer.
	packAsk = 10 * time.Second
)

func newOtherPacks(dc string, k kafka.Cluster, l events.Layout, log zerolog.Logger) *otherPacks {
	shards := int(l.Partitions())
	return &otherPacks{
		dc: dc, kafka: k, topic: l.Name(events.PacingTopic(dc)), shards: shards, log: log.With().Str("peer", dc).Logger(),
		reader: logreader.New(logreader.Config{Kafka: k, Partitions: shards, QueueBytes: packReaderBytes, FetchBytes: packFetchBytes}),
		asking: make(chan struct{}, 1),
	}
}

// otherPacks returns those of all other datacentres.
func (s *Setup) otherPacks() (list []*otherPacks, err error) {
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
func readOtherPacks(list []*otherPacks) func(context.Context, int32, func(*eventspb.AccountPack)) {
	if len(list) == 0 {
		return nil
	}
	return func(ctx context.Context, partition int32, fn func(*eventspb.AccountPack)) {
		var reading sync.WaitGroup
		for _, p := range list {
			reading.Go(func() { p.read(ctx, partition, fn) })
		}
		reading.Wait()
	}
}

// read calls fn for each pack that is written in a partition from now on, until ctx ends.
func (o *otherPacks) read(ctx context.Context, partition int32, fn func(*eventspb.AccountPack)) {
	for ctx.Err() == nil {
		err := o.follow(ctx, partition, fn)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errNoPacks) && o.unread.first() {
			o.log.Warn().Int32("partition", partition).Err(err).Msg("other_packs_unread")
		}
		pause.For(ctx, packRetry)
	}
}

// follow is read until the first error.
func (o *otherPacks) follow(ctx context.Context, partition int32, fn func(*eventspb.AccountPack)) error {
	at, err := o.end(ctx, partition)
	if err != nil {
		return err
	}
	part, err := o.reader.Open(o.topic, partition, at) //nolint:contextcheck // Close ends the reading
	if err != nil {
		return fmt.Errorf("read %s: %w", o.topic, err)
	}
	defer part.Close()
	var b logreader.Batch
	for {
		if err := part.Next(ctx, &b, packBatchBytes); err != nil {
			return err
		}
		for i := range b.Records {
			m, err := o.decode(&b.Records[i])
			switch {
			case err != nil:
				return err
			case m != nil:
				fn(m)
			}
		}
	}
}

// decode returns the pack of a record, nil if the record has none.
func (o *otherPacks) decode(r *logreader.Record) (*eventspb.AccountPack, error) {
	if len(r.Key) == 0 || r.Key[0] != pacing.TablePacks || r.Value == nil {
		return nil, nil
	}
	m := &eventspb.AccountPack{}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return nil, fmt.Errorf("offset %d of %s: %w: is the topic written by pacing?", r.Offset, o.topic, err)
	}
	m.WriterDc = o.dc
	return m, nil
}

// errNoPacks means that the other datacentre does not pace campaigns: it does not have the topic.
var errNoPacks = errors.New("the topic does not exist")

// end returns the end of a partition a moment ago. One answer of the brokers is for all partitions.
func (o *otherPacks) end(ctx context.Context, partition int32) (at logreader.Position, err error) {
	select {
	case o.asking <- struct{}{}:
		defer func() { <-o.asking }()
	case <-ctx.Done():
		return at, ctx.Err()
	}
	if time.Since(o.askAt) >= packAsk {
		ctx, cancel := context.WithTimeout(ctx, packAsk)
		defer cancel()
		o.ends, o.failed = logreader.DescribeExtent(ctx, o.kafka, o.topic)
		o.askAt = time.Now()
	}
	switch n := len(o.ends.Partitions); {
	case o.failed != nil:
		return at, o.failed
	case n == 0:
		return at, errNoPacks
	case n != o.shards:
		return at, &logreader.PartitionsError{Topic: o.topic, Has: n, Want: o.shards}
	}
	return logreader.Position{Topic: o.ends.Topic, Next: o.ends.Partitions[partition].End, Epoch: -1}, nil
}
