package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
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
	shards   int32
	writers  []string // datacentres whose parameters can be served
	log      zerolog.Logger
	pins     processors.Pins
	producer *requestProducer
	invalid  minute

	mu        sync.Mutex
	read      bool                                    // the topic was read to its end once
	leaders   map[int32]*eventspb.LeaderOverride      // the last one by shard
	campaigns map[string][]*eventspb.CampaignOverride // the last ones by account, ordered by campaign
	writer    lastWriter
	awaited   map[proto.Message]chan<- struct{} // that were written: closed when they are in force
}

func newOverrides(k kafka.Cluster, l events.Layout, log zerolog.Logger) *overrides {
	topic := l.Name(events.PacingOverridesTopic)
	return &overrides{
		kafka: k, topic: topic, app: l.Name(events.PacingApp), shards: l.Partitions(), log: log, producer: newRequestProducer(k, topic),
		leaders: map[int32]*eventspb.LeaderOverride{}, campaigns: map[string][]*eventspb.CampaignOverride{},
		awaited: map[proto.Message]chan<- struct{}{},
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
	last, atEnd := map[string]proto.Message{}, false
	record := func(r *stream.Record) {
		m, err := decodeOverride(r)
		switch {
		case err != nil && o.invalid.first():
			o.log.Warn().Int64("offset", r.Offset).Err(err).Msg("override_invalid")
		case m == nil || err != nil:
		case atEnd:
			o.take(m)
		default:
			last[string(r.Key)] = m
		}
	}
	end := func() {
		atEnd = true
		for _, m := range last {
			o.take(m)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.read = true
	}
	return kafka.TopicReader{Kafka: o.kafka, Topic: o.topic, Record: record, AtEnd: end}.Run(ctx)
}

// decodeOverride returns the override of a record, nil for another kind.
func decodeOverride(r *stream.Record) (proto.Message, error) {
	if l, err := override.Leaders().Decode(r.Key, r.Value); l != nil || err != nil {
		return l, err
	}
	if c, err := override.Campaigns().Decode(r.Key, r.Value); c != nil || err != nil {
		return c, err
	}
	if w, err := override.Writers().Decode(r.Key, r.Value); w != nil || err != nil {
		return w, err
	}
	return nil, nil //nolint:nilnil // another kind
}

// take takes the last override of a shard or a campaign.
func (o *overrides) take(m proto.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch m := m.(type) {
	case *eventspb.LeaderOverride:
		o.takeLeader(m)
	case *eventspb.CampaignOverride:
		o.takeCampaign(m)
	case *eventspb.WriterOverride:
		o.takeWriter(m)
	}
	for written, done := range o.awaited {
		if proto.Equal(written, m) {
			close(done)
			delete(o.awaited, written)
		}
	}
}

// atMost returns the end of an override: a clock that is ahead does not make it longer.
func atMost(untilMs int64) time.Time {
	return time.UnixMilli(min(untilMs, time.Now().Add(override.MaxFor).UnixMilli()))
}

func (o *overrides) takeLeader(l *eventspb.LeaderOverride) {
	if proto.Equal(l, o.leaders[l.GetShard()]) {
		return
	}
	o.leaders[l.GetShard()] = l
	until := atMost(l.GetUntilMs())
	o.pins.Set(processors.Pin{Partition: l.GetShard(), Instance: l.GetLeader(), At: time.UnixMilli(l.GetAtMs()), Until: until})
	o.log.Info().Int32("shard", l.GetShard()).Str("leader", l.GetLeader()).Time("until", until).Str("who", l.GetWho()).
		Str("why", l.GetWhy()).Msg("leader_override")
}

func (o *overrides) takeWriter(w *eventspb.WriterOverride) {
	if w = o.writer.take(w); w != nil {
		o.log.Info().Str("writer", w.GetWriter()).Time("until", time.UnixMilli(w.GetUntilMs())).Str("who", w.GetWho()).
			Str("why", w.GetWhy()).Msg("writer_override")
	}
}

// lastOf returns where the last override of a campaign is among those of its account.
func (o *overrides) lastOf(c *eventspb.CampaignOverride) (at int, found bool) {
	return slices.BinarySearchFunc(o.campaigns[c.GetAccount()], c.GetCampaign(), func(c *eventspb.CampaignOverride, id string) int {
		return strings.Compare(c.GetCampaign(), id)
	})
}

// takeCampaign takes the last override of a campaign. It stays for a day, also if it has ended: a
// pack may have the one before.
func (o *overrides) takeCampaign(c *eventspb.CampaignOverride) {
	forgotten := time.Now().Add(-override.MaxFor).UnixMilli()
	old := func(c *eventspb.CampaignOverride) bool { return c.GetUntilMs() < forgotten }
	for account, list := range o.campaigns {
		if slices.ContainsFunc(list, old) {
			o.campaigns[account] = slices.DeleteFunc(slices.Clone(list), old)
		}
		if len(o.campaigns[account]) == 0 {
			delete(o.campaigns, account)
		}
	}
	if old(c) {
		return
	}
	list := slices.Clone(o.campaigns[c.GetAccount()]) // accounts have the one before
	at, found := o.lastOf(c)
	until := atMost(c.GetUntilMs())
	held := proto.CloneOf(c)
	held.UntilMs = until.UnixMilli()
	if !found {
		list = slices.Insert(list, at, held)
	} else {
		// The topic may be read again: what was bounded is not bounded again, later.
		known := proto.CloneOf(list[at])
		if known.UntilMs = max(known.GetUntilMs(), c.GetUntilMs()); proto.Equal(known, c) {
			return
		}
		list[at] = held
	}
	o.campaigns[c.GetAccount()] = list
	o.log.Info().Str("account", c.GetAccount()).Str("campaign", c.GetCampaign()).Float64("probability", c.GetProbability()).
		Time("until", until).Str("who", c.GetWho()).Str("why", c.GetWhy()).Msg("campaign_override")
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

// ofAccount implements pacing.ProcessorConfig.Overrides.
func (o *overrides) ofAccount(account string) []*eventspb.CampaignOverride {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.campaigns[account]
}

// Campaigns implements api.OverrideSource.
func (o *overrides) Campaigns() (list []*eventspb.CampaignOverride, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.read {
		return nil, fmt.Errorf("%w from %s", errOverridesUnread, o.topic)
	}
	now := time.Now()
	for _, account := range slices.Sorted(maps.Keys(o.campaigns)) {
		for _, c := range o.campaigns[account] {
			if override.InForce(c, now) {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// Writer implements api.OverrideSource.
func (o *overrides) Writer() (*eventspb.WriterOverride, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.read {
		return nil, fmt.Errorf("%w from %s", errOverridesUnread, o.topic)
	}
	return o.writer.inForce(time.Now()), nil
}

// Writers implements api.OverrideSource.
func (o *overrides) Writers() []string { return o.writers }

// SetWriter implements api.OverrideSource.
func (o *overrides) SetWriter(ctx context.Context, w *eventspb.WriterOverride) error {
	key, value, err := override.Writers().Record(w)
	if err != nil {
		return err
	}
	return o.write(ctx, w, func(p *kafka.Producer) error { return p.Produce(ctx, writerPartition, key, value) })
}

// writerPartition is the partition of the override of the writer.
const writerPartition = 0

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
	key, value, err := override.Leaders().Record(l)
	if err != nil {
		return err
	}
	return o.write(ctx, l, func(p *kafka.Producer) error { return p.Produce(ctx, l.GetShard(), key, value) })
}

// SetCampaign implements api.OverrideSource. The override is later than the one before, also if the
// clock of another process was ahead.
func (o *overrides) SetCampaign(ctx context.Context, c *eventspb.CampaignOverride) error {
	o.mu.Lock()
	if at, found := o.lastOf(c); found {
		later := max(0, o.campaigns[c.GetAccount()][at].GetAtMs()+1-c.GetAtMs())
		c.AtMs, c.UntilMs = c.GetAtMs()+later, c.GetUntilMs()+later
	}
	o.mu.Unlock()
	key, value, err := override.Campaigns().Record(c)
	if err != nil {
		return err
	}
	partition := events.Shard(c.GetAccount(), o.shards)
	return o.write(ctx, c, func(p *kafka.Producer) error { return p.Produce(ctx, partition, key, value) })
}

// write calls produce to write an override, and returns when it was read again.
func (o *overrides) write(ctx context.Context, m proto.Message, produce func(*kafka.Producer) error) error {
	read := make(chan struct{})
	o.mu.Lock()
	o.awaited[m] = read
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.awaited, m)
		o.mu.Unlock()
	}()
	if err := o.producer.produce(ctx, produce); err != nil {
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
