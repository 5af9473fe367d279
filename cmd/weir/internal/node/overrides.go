package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/override"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// overrides are the overrides of operators in pacing. They follow the topic, and set the pins of
// the runtime.
type overrides struct {
	kafka    kafka.Cluster
	topic    string
	app      string // whose processes can lead
	log      zerolog.Logger
	pins     processors.Pins
	producer *requestProducer
	invalid  minute

	mu      sync.Mutex
	read    bool                                         // the topic was read to its end once
	leaders map[int32]*eventspb.LeaderOverride           // the last one by shard
	awaited map[*eventspb.LeaderOverride]chan<- struct{} // that were written: closed when they are in force
}

func newOverrides(k kafka.Cluster, topic, app string, log zerolog.Logger) *overrides {
	return &overrides{
		kafka: k, topic: topic, app: app, log: log, producer: newRequestProducer(k, topic),
		leaders: map[int32]*eventspb.LeaderOverride{}, awaited: map[*eventspb.LeaderOverride]chan<- struct{}{},
	}
}

// run follows the topic until ctx ends. After an error it reads the topic from the start.
func (o *overrides) run(ctx context.Context) error {
	var failed minute
	for ctx.Err() == nil {
		if err := o.follow(ctx); err != nil && ctx.Err() == nil && failed.first() {
			o.log.Warn().Err(err).Msg("overrides_unread")
		}
		pause.For(ctx, time.Second)
	}
	return nil
}

// follow reads the topic from the start, until ctx ends or an error. Up to the end only the last
// records count: the others were replaced.
func (o *overrides) follow(ctx context.Context) error {
	last, atEnd := map[int32]*eventspb.LeaderOverride{}, false
	record := func(r *stream.Record) {
		l, err := override.Decode(r.Key, r.Value)
		switch {
		case err != nil && o.invalid.first():
			o.log.Warn().Int64("offset", r.Offset).Err(err).Msg("override_invalid")
		case l == nil || err != nil:
		case atEnd:
			o.take(l)
		default:
			last[l.GetShard()] = l
		}
	}
	end := func() {
		atEnd = true
		for _, l := range last {
			o.take(l)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.read = true
	}
	return kafka.TopicReader{Kafka: o.kafka, Topic: o.topic, Record: record, AtEnd: end}.Run(ctx)
}

// take takes the last override of a shard.
func (o *overrides) take(l *eventspb.LeaderOverride) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !proto.Equal(l, o.leaders[l.GetShard()]) {
		o.leaders[l.GetShard()] = l
		// A clock that is ahead does not make an override longer.
		until := time.UnixMilli(min(l.GetUntilMs(), time.Now().Add(override.MaxFor).UnixMilli()))
		o.pins.Set(processors.Pin{Partition: l.GetShard(), Instance: l.GetLeader(), At: time.UnixMilli(l.GetAtMs()), Until: until})
		o.log.Info().Int32("shard", l.GetShard()).Str("leader", l.GetLeader()).Time("until", until).Str("who", l.GetWho()).
			Str("why", l.GetWhy()).Msg("leader_override")
	}
	for written, done := range o.awaited {
		if proto.Equal(written, l) {
			close(done)
			delete(o.awaited, written)
		}
	}
}

// errOverridesUnread means that the topic was not read to its end yet.
var errOverridesUnread = errors.New("the overrides have not been read yet")

// Leaders implements api.OverrideSource.
func (o *overrides) Leaders() (list []*eventspb.LeaderOverride, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.read {
		return nil, fmt.Errorf("%w from %s", errOverridesUnread, o.topic)
	}
	now := time.Now()
	for _, l := range o.leaders {
		if override.InForce(l, now) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *eventspb.LeaderOverride) int { return int(a.GetShard() - b.GetShard()) })
	return list, nil
}

// Processes implements api.OverrideSource.
func (o *overrides) Processes(ctx context.Context) (names []string, err error) {
	members, err := processors.Members(ctx, o.kafka, o.app)
	for _, m := range members {
		names = append(names, m.Instance)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// SetLeader implements api.OverrideSource.
func (o *overrides) SetLeader(ctx context.Context, l *eventspb.LeaderOverride) error {
	key, value, err := override.Record(l)
	if err != nil {
		return err
	}
	read := make(chan struct{})
	o.mu.Lock()
	o.awaited[l] = read
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.awaited, l)
		o.mu.Unlock()
	}()
	if err := o.producer.produce(ctx, func(p *kafka.Producer) error { return p.Produce(ctx, l.GetShard(), key, value) }); err != nil {
		return err
	}
	select {
	case <-read:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the override is written to %s, and was not read from there yet: %w", o.topic, ctx.Err())
	}
}

var _ api.OverrideSource = (*overrides)(nil)
