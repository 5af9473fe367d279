//go:build synctests

package spendcache

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/stream"
)

// lead writes the row of the leader of a shard.
func (x *fixture) lead(shard int32, incarnation, epoch, sequence uint64) {
	x.Helper()
	cfg := x.config()
	value := x.counters["eu"].marshal(&eventspb.ShardLeader{
		Process: "a", AtMs: time.Now().UnixMilli(), Incarnation: incarnation, OwnerEpoch: epoch, Sequence: sequence,
	})
	x.kafka.Commit("pacing-eu", cfg.packs(), shard, stream.Message{Key: pacing.AppendLeaderKey([]byte{pacing.TableLeaders}, shard), Value: value})
}

// TestLeaders: a shard whose leader writes has one, has none after 14 s of silence, and two when a
// former one writes again. Nothing is known of a shard that was never led, nor while no broker
// answers; that time does not count.
func TestLeaders(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.ready()
		expect := func(shard int32, want leadership) {
			x.Helper()
			if got := leadership(x.cache.leaders[shard].state.Load()); got != want {
				x.Errorf("leaders of shard %d: %d, want %d", shard, got, want)
			}
		}
		sequence := uint64(0)
		led := func(seconds int, epoch uint64) {
			x.Helper()
			for range seconds {
				sequence++
				x.lead(0, 1, epoch, sequence)
				x.pass(1, all()...)
			}
		}
		expect(0, unknownLeaders)
		led(4, 1)
		expect(0, oneLeader)
		expect(1, unknownLeaders)
		x.pass(12, all()...)
		expect(0, oneLeader)
		x.pass(4, all()...)
		expect(0, noLeader)
		if n := x.log.count("pacing_without_leader"); n != 1 {
			x.Errorf("%d lines pacing_without_leader", n)
		}
		led(3, 2)
		expect(0, oneLeader)
		if n := x.log.count("pacing_has_leader"); n != 1 {
			x.Errorf("%d lines pacing_has_leader", n)
		}

		led(3, 1) // the first owner again
		expect(0, twoLeaders)
		led(2, 2)
		expect(0, twoLeaders)
		if n := x.log.count("pacing_with_two_leaders"); n != 1 {
			x.Errorf("%d lines pacing_with_two_leaders", n)
		}
		led(35, 2)
		expect(0, oneLeader)

		x.lead(0, 2, 1, 1) // another state of the changelog
		x.pass(3, all()...)
		expect(0, oneLeader)
		x.link.Cut()
		time.Sleep(20 * time.Second)
		expect(0, unknownLeaders)
		x.link.Heal()
		x.await("the topic is read again", func() bool { return leadership(x.cache.leaders[0].state.Load()) == oneLeader })
		x.pass(18, all()...)
		expect(0, noLeader)
		had := x.log.count("pacing_has_leader")
		x.link.Cut()
		time.Sleep(20 * time.Second)
		x.link.Heal()
		x.await("the topic is read again", func() bool { return leadership(x.cache.leaders[0].state.Load()) != unknownLeaders })
		expect(0, noLeader)
		if n := x.log.count("pacing_has_leader"); n != had {
			x.Errorf("an outage of the brokers is taken for a leader")
		}
	})
}
