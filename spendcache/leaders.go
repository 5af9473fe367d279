package spendcache

import (
	"cmp"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors/follower"
)

// leadership is how many processes lead a shard of pacing, by the rows that they write.
type leadership int32

const (
	unknownLeaders leadership = iota // there was no row yet, or the topic cannot be read now
	noLeader
	oneLeader
	twoLeaders // a former leader writes beside its successor
)

const (
	// leaderLimit is the time without a row of a leader after which a shard has none: 10 s more
	// than the time between two rows.
	leaderLimit = 10*time.Second + pacing.LeadEvery + time.Second
	// twoLeadersLimit is the time for which a shard has two leaders after the last sign of it.
	twoLeadersLimit = 30 * time.Second
	// packsReadLimit is the age of what was read from which on nothing is known.
	packsReadLimit = 5 * time.Second
)

// leader observes who leads a shard. Only evaluate changes it.
type leader struct {
	row   *eventspb.ShardLeader // the last one that was read; nil: none yet
	seen  time.Time             // when it was read first, or when the topic could be read again
	twice time.Time             // when a row of a former leader was read
	gone  bool                  // row is not followed by another one for too long
	state atomic.Int32          // leadership
	known leadership            // the last one that was known, of which the log has a line
}

// observe takes the row of the shard. current is whether the topic was read to its end just now.
func (l *leader) observe(now time.Time, row *eventspb.ShardLeader, current bool) leadership {
	switch {
	case !current: // the time in which nothing is read does not count
		if !l.gone {
			l.seen = now
		}
		return unknownLeaders
	case row == nil:
		return unknownLeaders
	case l.row == nil || !proto.Equal(row, l.row):
		if l.row != nil && compareLeaders(row, l.row) < 0 {
			l.twice = now
		}
		l.row, l.seen, l.gone = row, now, false
	}
	switch {
	case !l.twice.IsZero() && now.Sub(l.twice) < twoLeadersLimit:
		return twoLeaders
	case now.Sub(l.seen) > leaderLimit:
		l.gone = true
		return noLeader
	}
	return oneLeader
}

// compareLeaders orders rows of a shard by their owners.
func compareLeaders(a, b *eventspb.ShardLeader) int {
	return cmp.Or(cmp.Compare(a.GetIncarnation(), b.GetIncarnation()), cmp.Compare(a.GetOwnerEpoch(), b.GetOwnerEpoch()))
}

// observeLeaders observes the leaders of all shards. ends is how far each partition was read.
func (c *Cache) observeLeaders(now time.Time, snap *follower.Snapshot, ends map[partition]time.Time) {
	var none, two, back []int32
	topic := c.cfg.packs()
	for n := range c.leaders {
		l, shard := &c.leaders[n], int32(n)
		var row *eventspb.ShardLeader
		if snap != nil {
			row = readLeader(snap, topic, shard)
		}
		end := ends[partition{topic, shard}]
		state := l.observe(now, row, snap != nil && !end.IsZero() && now.Sub(end) < packsReadLimit)
		l.state.Store(int32(state))
		if state == unknownLeaders || state == l.known {
			continue
		}
		switch {
		case state == noLeader:
			none = append(none, shard)
		case state == twoLeaders:
			two = append(two, shard)
		case l.known != unknownLeaders:
			back = append(back, shard)
		}
		l.known = state
	}
	if len(none) > 0 {
		c.cfg.Log.Error().Ints32("shards", none).Msg("pacing_without_leader")
	}
	if len(two) > 0 {
		c.cfg.Log.Error().Ints32("shards", two).Msg("pacing_with_two_leaders")
	}
	if len(back) > 0 {
		c.cfg.Log.Info().Ints32("shards", back).Msg("pacing_has_leader")
	}
}

// readLeader returns the row of the leader of a shard, nil if none can be read.
func readLeader(snap *follower.Snapshot, topic string, shard int32) *eventspb.ShardLeader {
	row, found, err := snap.Get(topic, shard, pacing.AppendLeaderKey([]byte{pacing.TableLeaders}, shard))
	m := &eventspb.ShardLeader{}
	if err != nil || !found || proto.Unmarshal(row.Value, m) != nil {
		return nil
	}
	return m
}
