//go:build synctests

package spendcache

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// otherKafka is the Kafka of another datacentre, which paces the same accounts.
type otherKafka struct {
	x      *fixture
	dc     string
	remote *processorstest.Remote
	link   processorstest.RemoteLink
	leads  bool // its pacing runs
	seq    uint64
}

// withOthers adds the Kafkas of other datacentres to the configuration.
func (x *fixture) withOthers(dcs ...string) (list []*otherKafka) {
	x.Helper()
	for _, dc := range dcs {
		cfg := x.config()
		o := &otherKafka{x: x, dc: dc, leads: true, remote: processorstest.NewRemote(x.T, shards, cfg.Layout.Name(events.PacingTopic(dc)))}
		o.link = o.remote.Link()
		list = append(list, o)
	}
	x.adjust = func(c *Config) {
		for _, o := range list {
			c.Others = append(c.Others, Other{DC: o.dc, Kafka: o.link.Kafka})
		}
	}
	return list
}

// write writes the row of the leader of each shard, and a pack of its account.
func (o *otherKafka) write(probability float64) {
	o.x.Helper()
	if !o.leads {
		return
	}
	o.seq++
	cfg := o.x.config()
	topic := cfg.Layout.Name(events.PacingTopic(o.dc))
	for shard := range int32(shards) {
		account := accountOf(shard)
		o.remote.Commit("pacing-"+o.dc, topic, shard,
			o.message(pacing.AppendPackKey([]byte{pacing.TablePacks}, account, 0), newPack(account, o.dc, probability)),
			o.message(pacing.AppendLeaderKey([]byte{pacing.TableLeaders}, shard), &eventspb.ShardLeader{
				Process: "b", AtMs: time.Now().UnixMilli(), Incarnation: 1, OwnerEpoch: 1, Sequence: o.seq,
			}))
	}
}

func (o *otherKafka) message(key []byte, m proto.Message) stream.Message {
	return stream.Message{Key: key, Value: o.x.counters["eu"].marshal(m)}
}

func newPack(account, dc string, probability float64) *eventspb.AccountPack {
	node := func(id string) *eventspb.PacedNode {
		return &eventspb.PacedNode{
			Id: id, Open: true, Probability: probability, Multiplier: 1, Reason: string(control.Behind),
			State: &eventspb.PaceState{Open: true, Probability: probability, Multiplier: 1},
		}
	}
	spring := node("spring")
	spring.Arms = []*eventspb.PacedNode{node("x")}
	return &eventspb.AccountPack{
		Account: account, WriterDc: dc, AtMs: time.Now().UnixMilli(), Parts: 1, Campaigns: []*eventspb.PacedNode{node("autumn"), spring},
	}
}

// servedBy returns whose pack of a shard's account is served, and its campaigns autumn and spring.
func (x *fixture) servedBy(shard int32) (dc string, autumn, spring *eventspb.PacedNode) {
	x.Helper()
	list, err := x.cache.Packs(x.Context(), accountOf(shard))
	if err != nil || len(list) != 1 || len(list[0].GetCampaigns()) != 2 {
		x.Fatalf("%v, %v", list, err)
	}
	return list[0].GetWriterDc(), list[0].GetCampaigns()[0], list[0].GetCampaigns()[1]
}

// follows reports whether one of the other datacentres is followed.
func (x *fixture) follows(at int) bool {
	snap, err := x.cache.others.others[at].follower.Snapshot()
	if err == nil {
		_ = snap.Close()
	}
	return err == nil
}

// others is a test of a cache of eu, beside which us and ap pace.
type others struct {
	*fixture
	us, ap   *otherKafka
	sequence uint64
	own      func(m *eventspb.AccountPack) // changes what eu writes; nil: eu writes no packs
}

// inThree runs f in a bubble. adjust changes the configuration.
func inThree(t *testing.T, f func(x *others), adjust ...func(*Config)) {
	t.Helper()
	inCluster(t, func(x *fixture) {
		list := x.withOthers("us", "ap")
		with := x.adjust
		x.adjust = func(c *Config) {
			with(c)
			for _, a := range adjust {
				a(c)
			}
		}
		o := &others{fixture: x, us: list[0], ap: list[1]}
		for shard := range int32(shards) {
			o.pack(shard, func(*eventspb.AccountPack) {})
		}
		x.fixturePass(3)
		x.ready()
		f(o)
	})
}

func (x *fixture) fixturePass(seconds int) { x.pass(seconds, all()...) }

// pack writes the pack of eu of a shard's account.
func (x *others) pack(shard int32, change func(m *eventspb.AccountPack)) {
	x.Helper()
	m := newPack(accountOf(shard), "eu", 0.5)
	change(m)
	x.commitPack(m.GetAccount(), x.us.message(pacing.AppendPackKey([]byte{pacing.TablePacks}, m.GetAccount(), 0), m))
}

// pass lets seconds pass, in which the processes of eu lead some shards.
func (x *others) pass(seconds int, led ...int32) {
	x.Helper()
	for range seconds {
		x.sequence++
		for _, shard := range led {
			x.lead(shard, 1, 1, x.sequence)
			if x.own != nil {
				x.pack(shard, x.own)
			}
		}
		x.us.write(0.25)
		x.ap.write(0.125)
		x.fixturePass(1)
	}
}

// expect checks whose pack of a shard's account is served.
func (x *others) expect(shard int32, want string) {
	x.Helper()
	if dc, _, _ := x.servedBy(shard); dc != want {
		x.Errorf("shard %d is served by %q, want %s", shard, dc, want)
	}
}

// TestOthers: while no process paces the accounts of a shard, the packs of the first datacentre
// that does are served. The own ones are served again when their leader has been back for a minute.
// Other shards have the own ones. A cache that starts while no process paces does the same.
func TestOthers(t *testing.T) {
	inThree(t, func(x *others) {
		x.pass(20, 0, 1)
		x.expect(0, "eu")
		if x.follows(0) {
			x.Errorf("us is followed, and nothing needs it")
		}
		x.pass(20, 1) // shard 0 has no leader
		if dc, autumn, _ := x.servedBy(0); dc != "us" || autumn.GetProbability() != 0.25 || !autumn.GetOpen() {
			x.Errorf("%s: %v", dc, autumn)
		}
		x.expect(1, "eu")
		if !x.follows(0) || x.follows(1) {
			x.Errorf("us is followed: %t, ap: %t, which nothing needs", x.follows(0), x.follows(1))
		}
		if n := x.log.count("pacing_served_by_peer"); n != 1 {
			x.Errorf("%d lines pacing_served_by_peer", n)
		}
		for _, s := range x.cache.Datasets() {
			if want := []string{"us", "eu"}[s.Choice.Shard]; s.PacingDC != want {
				x.Errorf("shard %d has the parameters of %s, want %s", s.Choice.Shard, s.PacingDC, want)
			}
		}

		x.us.leads = false
		x.pass(45, 1)
		x.expect(0, "ap")
		x.ap.leads = false
		x.pass(20, 1)
		x.expect(0, "ap") // the newest parameters that there are
		x.us.leads, x.ap.leads = true, true
		x.pass(5, 1)
		x.expect(0, "ap")

		x.halt() // a cache that starts while nothing paces here
		x.ready()
		x.pass(25, 1)
		x.expect(0, "us")
		x.expect(1, "eu")
		x.us.link.Cut()
		x.pass(45, 1)
		x.expect(0, "ap")
		x.us.link.Heal()

		x.pass(30, 0, 1)
		x.expect(0, "ap")
		x.pass(20, 1) // its leader is away again
		x.pass(50, 0, 1)
		x.expect(0, "ap")
		x.pass(20, 0, 1)
		x.expect(0, "eu")
		if n := x.log.count("pacing_served_here"); n != 1 {
			x.Errorf("%d lines pacing_served_here", n)
		}
		x.pass(int(keepFollowing/time.Second)+20, 0, 1)
		if x.follows(0) {
			x.Errorf("us is followed, long after it was needed")
		}

		x.us.leads = false // since before the next outage
		x.pass(300, 0, 1)
		for range 60 {
			x.pass(1, 1)
			if dc, _, _ := x.servedBy(0); dc == "us" {
				x.Fatalf("us is served, which has not paced for minutes")
			}
		}
		x.expect(0, "ap")
	})
}

// TestReturn: the packs of this datacentre are not served again while they rest on old spend, nor
// because the time in which nothing could be read has passed.
func TestReturn(t *testing.T) {
	inThree(t, func(x *others) {
		x.pass(20, 0, 1)
		x.pass(25, 1)
		x.expect(0, "us")
		x.pass(5, 0, 1)
		x.link.Cut()
		x.pass(70) // its topics cannot be written or read
		x.expect(0, "us")
		x.link.Heal()
		x.await("the topic is read again", func() bool {
			x.pass(1, 0, 1)
			return leadership(x.cache.leaders[0].state.Load()) == oneLeader
		})
		x.pass(10, 0, 1)
		x.expect(0, "us")

		x.own = func(m *eventspb.AccountPack) { m.Unread = true }
		x.pass(90, 0, 1)
		x.expect(0, "us")
		x.own = func(*eventspb.AccountPack) {}
		x.pass(10, 0, 1)
		x.expect(0, "eu")

		x.own = nil
		x.pass(20, 1)
		x.expect(0, "us")
		x.us.leads, x.ap.leads = false, false // and eu is back, which has newer packs
		x.pass(150, 1)
		x.own = func(*eventspb.AccountPack) {}
		x.pass(10, 0, 1)
		x.expect(0, "eu")
	})
}

// TestWriter: an operator decides whose packs are served, while processes pace there, and until the
// override ends.
func TestWriter(t *testing.T) {
	var writer atomic.Value
	writer.Store("")
	inThree(t, func(x *others) {
		x.pass(70, 0, 1)
		x.expect(0, "eu")
		x.expectOverride(false)
		writer.Store("ap")
		x.pass(5, 0, 1)
		x.expect(0, "ap")
		x.expect(1, "ap")
		x.expectOverride(true)
		if x.follows(0) {
			x.Errorf("us is followed, and nothing needs it")
		}
		x.ap.leads = false
		x.pass(20, 0, 1)
		x.expect(0, "eu")
		x.ap.leads = true
		x.pass(5, 0, 1)
		x.expect(0, "ap")
		x.ap.link.Cut()
		x.pass(60, 0, 1)
		x.expect(0, "ap")
		x.pass(70, 0, 1) // nothing is known for more than two minutes
		x.expect(0, "eu")
		x.ap.link.Heal()
		x.await("ap is read again", func() bool {
			x.pass(1, 0, 1)
			dc, _, _ := x.servedBy(0)
			return dc == "ap"
		})
		x.own = func(m *eventspb.AccountPack) { m.Unread = true } // the end does not wait for fresh spend
		x.pass(5, 0, 1)
		writer.Store("")
		x.pass(3, 0, 1)
		x.expect(0, "eu")
		x.own = nil

		writer.Store("elsewhere") // has no effect
		x.pass(3, 0, 1)
		x.expect(0, "eu")
		x.expectOverride(false)
		writer.Store("eu")
		x.pass(40, 1) // shard 0 has no leader
		x.expect(0, "eu")
		x.expectOverride(true)
		writer.Store("")
		x.pass(5, 1)
		x.expect(0, "us")
		x.expectOverride(false)
	}, func(c *Config) { c.Writer = func(time.Time) string { return writer.Load().(string) } })
}

// TestWriterEnds: when the override ends, a shard that this datacentre has never led has the own
// parameters again.
func TestWriterEnds(t *testing.T) {
	var writer atomic.Value
	writer.Store("us")
	inThree(t, func(x *others) {
		x.pass(10, 1)
		x.expect(0, "us")
		writer.Store("")
		x.pass(3, 1)
		x.expect(0, "eu")
	}, func(c *Config) { c.Writer = func(time.Time) string { return writer.Load().(string) } })
}

// TestUnpacedThere: an account that the other datacentre has no packs of keeps the own ones.
func TestUnpacedThere(t *testing.T) {
	inThree(t, func(x *others) {
		account := "new"
		for x.cache.Shard(account) != 0 {
			account += "er"
		}
		m := newPack(account, "eu", 0.5)
		m.Unread = true
		x.commitPack(account, x.us.message(pacing.AppendPackKey([]byte{pacing.TablePacks}, account, 0), m))
		x.pass(10, 0, 1)
		x.expect(0, "us")
		if list, err := x.cache.Packs(x.Context(), account); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
	}, func(c *Config) { c.Writer = func(time.Time) string { return "us" } })
}

// expectOverride checks whether operators decide whose packs of shard 0 are served.
func (x *others) expectOverride(want bool) {
	x.Helper()
	if got := x.cache.Datasets()[0].PacingOverride; got != want {
		x.Errorf("an override decides: %t, want %t", got, want)
	}
}

// TestOthersOverrides: a campaign has the overrides of this datacentre, below its shared budget,
// and none of another one.
func TestOthersOverrides(t *testing.T) {
	hour := time.Now().Add(time.Hour).UnixMilli()
	override := func(probability float64) *eventspb.CampaignOverride {
		return &eventspb.CampaignOverride{Probability: probability, UntilMs: hour}
	}
	for _, c := range []struct {
		name          string
		ours, theirs  *eventspb.CampaignOverride
		below, paused bool // a shared budget with a probability of 0.2; the campaign's own budget is spent
		want          float64
		arm           float64
		open          bool
		reason        control.Reason
	}{
		{name: "none", want: 0.25, arm: 0.25, open: true, reason: control.Behind},
		{name: "ours stops it", ours: override(0), want: 0.25, arm: 0.25, reason: control.PausedNow},
		{name: "ours", ours: override(0.9), want: 0.9, arm: 0.9, open: true, reason: control.Override},
		{name: "ours, below a shared budget", ours: override(0.9), below: true, want: 0.2, arm: 0.2, open: true, reason: control.Override},
		{name: "ours, and the budget is spent", ours: override(0.9), paused: true, want: 0.25, arm: 0.25, reason: control.Spent},
		{name: "theirs", theirs: override(1), want: 0.25, arm: 0.25, open: true, reason: control.Behind},
		{name: "theirs stops it, below a shared budget", theirs: override(0), below: true, want: 0.2, arm: 0.2, open: true, reason: control.Behind},
		{name: "ended", ours: &eventspb.CampaignOverride{UntilMs: 1}, want: 0.25, arm: 0.25, open: true, reason: control.Behind},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, other := newPack("acme", "eu", 0.5), newPack("acme", "us", 0.25)
			own.Campaigns[1].Override = c.ours
			n := other.GetCampaigns()[1]
			if c.below {
				n.Shared, n.Probability = "s", 0.2
				other.Shared = []*eventspb.PacedNode{{Id: "s", Open: true, Probability: 0.2, Multiplier: 1}}
			}
			for _, n := range append(n.GetArms(), n) {
				if n.Override = c.theirs; c.theirs != nil {
					n.Open, n.Probability, n.Reason = c.theirs.GetProbability() > 0, c.theirs.GetProbability(), string(control.OverrideReason(c.theirs.GetProbability()))
				}
				if c.paused {
					n.Open, n.State.Open, n.Reason = false, false, string(control.Spent)
				}
			}
			replaceOverrides([]*eventspb.AccountPack{other}, []*eventspb.AccountPack{own}, time.Now().UnixMilli())
			arm := n.GetArms()[0]
			if n.GetOpen() != c.open || arm.GetOpen() != c.open || n.GetProbability() != c.want || arm.GetProbability() != c.arm || n.GetReason() != string(c.reason) {
				t.Errorf("%v", n)
			}
			if autumn := other.GetCampaigns()[0]; autumn.GetProbability() != 0.25 || !autumn.GetOpen() {
				t.Errorf("another campaign: %v", autumn)
			}
		})
	}
}

// TestOthersConfig: what cannot be followed is refused.
func TestOthersConfig(t *testing.T) {
	inCluster(t, func(x *fixture) {
		for want, change := range map[string]func(c *Config){
			"Others need Pacing":  func(c *Config) { c.Pacing, c.Others = false, []Other{{DC: "us"}} },
			"the own datacentre":  func(c *Config) { c.Others = []Other{{DC: "eu"}} },
			`"us" twice`:          func(c *Config) { c.Others = []Other{{DC: "us", Kafka: x.link.Kafka}, {DC: "us", Kafka: x.link.Kafka}} },
			"Others: us: invalid": func(c *Config) { c.Others = []Other{{DC: "us"}} },
		} {
			x.link = x.kafka.Link()
			c := x.config()
			change(&c)
			if _, err := New(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
				x.Errorf("%v, want %s", err, want)
			}
		}
	})
}
