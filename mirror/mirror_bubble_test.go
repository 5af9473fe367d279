//go:build synctests

package mirror

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestCopies copies records of both topics of both peers, with transactions, aborted ones among
// them, and writes heartbeats.
func TestCopies(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.start("a")
		for range 20 {
			for dc, r := range x.peers {
				p := int32(x.made % partitions)
				r.Produce("events", p, x.messages(5)...)
				if x.made%3 > 0 {
					r.Commit(dc, "events", p, x.messages(3)...)
				} else {
					r.Abort(dc, "events", p, x.messages(3)...)
				}
				r.Produce("refunds", p, x.messages(2)...)
			}
			time.Sleep(time.Second)
		}
		x.k.CaughtUp()
		if s := x.awaitStatus("us", "events", 0, "nothing is left to copy", func(s Status) bool { return s.Lag() == 0 && s.Next > 0 }); s.Problem != "" || s.Copied == 0 {
			x.Errorf("status %+v", s)
		}
		for p := range int32(partitions) {
			if n, gap := x.heartbeats(p); n < 15 || gap > 2500*time.Millisecond {
				x.Errorf("partition %d: %d heartbeats, %s apart", p, n, gap)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOriginHeaderOfAProducer: a record cannot claim another place.
func TestOriginHeaderOfAProducer(t *testing.T) {
	err := inRuntime(t, 1, func(c *Config) {
		c.MaxRecord = 1000
		plain := c.Topics[1].Copy
		c.Topics[1].Copy = func(dc string) stream.Topic {
			t := plain(dc)
			t.Cleanup = stream.CleanupCompact
			return t
		}
	}, func(x *fixture) {
		x.start("a")
		false1 := events.AppendOrigin(nil, events.Origin{Offset: 77, Previous: 76})
		x.peers["us"].Produce("events", 0, stream.Message{Value: []byte("v"), Headers: []stream.Header{{Key: events.OriginHeader, Value: false1}, {Key: "h", Value: []byte("1")}}})
		x.peers["us"].Produce("events", 0, stream.Message{Key: []byte("k"), Value: make([]byte, 2000), Headers: []stream.Header{{Key: "h", Value: []byte("1")}}})
		x.peers["us"].Produce("events", 0, stream.Message{Value: []byte("after")})
		var got []stream.Record
		x.k.WaitFor("three copies", time.Minute, func() bool {
			got = processorstest.ByPartition(x.k.Records("events.from.us"))[0]
			return len(got) == 3
		})
		if h := got[0].Headers; len(h) != 2 || h[0].Key != "h" {
			x.Errorf("headers %v", h)
		}
		if o, ok := events.ParseOrigin(got[0].Headers[1].Value); !ok || o.Offset != 0 || o.Previous != -1 {
			x.Errorf("origin %+v", o)
		}
		large := got[1]
		if len(large.Key)+len(large.Value) > 0 || len(large.Headers) != 2 || large.Headers[0].Key != OversizeHeader || string(large.Headers[0].Value) != "2003" {
			x.Errorf("the copy of a record that is too large: %+v", large)
		}
		if o, ok := events.ParseOrigin(got[2].Headers[0].Value); !ok || o.Offset != 2 || o.Previous != 1 {
			x.Errorf("origin %+v", o)
		}
		// A compacted topic takes no record without a key.
		x.peers["us"].Produce("refunds", 0, stream.Message{Key: []byte("k"), Value: make([]byte, 2000)})
		x.peers["us"].Produce("refunds", 0, stream.Message{Value: []byte("without a key")})
		x.k.WaitFor("copies with their places as keys", time.Minute, func() bool {
			got = processorstest.ByPartition(x.k.Records("refunds.from.us"))[0]
			return len(got) == 2
		})
		if o, ok := events.ParseOrigin(got[1].Key); !ok || o.Offset != 1 || string(got[1].Value) != "without a key" {
			x.Errorf("the copy of a record without a key: %+v", got[1])
		}
		if o, ok := events.ParseOrigin(got[0].Key); !ok || o.Offset != 0 || len(got[0].Value) > 0 {
			x.Errorf("the copy in a compacted topic: %+v", got[0])
		}
		x.without["events.from.us"], x.without["refunds.from.us"] = true, true
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKills kills two processes at every failpoint of a commit and between, while peers write,
// their leaders move and links are cut: each record is copied once and in order.
func TestKills(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if err := inRuntime(t, seed, nil, func(x *fixture) { kills(x, seed) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func kills(x *fixture, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	names := []string{"a", "b"}
	x.start("a")
	x.start("b")
	for _, failpoint := range append(processorstest.Failpoints(), processorstest.Failpoints()...) {
		name := names[rng.IntN(2)]
		x.procs[name].KillAt(failpoint)
		for range 8 {
			dc := []string{"us", "ap"}[rng.IntN(2)]
			r, p, topic := x.peers[dc], int32(rng.IntN(partitions)), []string{"events", "refunds"}[rng.IntN(2)]
			switch rng.IntN(7) {
			case 0:
				r.Commit(dc, topic, p, x.messages(1+rng.IntN(10))...)
			case 1:
				r.Abort(dc, topic, p, x.messages(1+rng.IntN(10))...)
			case 2:
				r.MoveLeaders()
			case 3:
				l := x.procs[names[rng.IntN(2)]].links[dc]
				l.Cut()
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
				l.Heal()
			default:
				r.Produce(topic, p, x.messages(1+rng.IntN(20))...)
			}
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		x.procs[name].Kill()
		x.start(name)
	}
	x.k.CaughtUp()
}

// TestPeerAway: a peer is away for ten minutes. The other is still copied; the status has the
// reason. Afterwards the rest is copied without an operator.
func TestPeerAway(t *testing.T) {
	if err := inRuntime(t, 1, func(c *Config) { c.Heartbeats = "" }, func(x *fixture) { peerAway(x, 30*time.Second) }); err != nil {
		t.Error(err)
	}
}

// TestHeartbeatsWithoutPeer: heartbeats are written while a peer is away.
func TestHeartbeatsWithoutPeer(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		peerAway(x, time.Second)
		if n, gap := x.heartbeats(1); n < 20 || gap > 2500*time.Millisecond {
			x.Errorf("%d heartbeats, %s apart", n, gap)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// peerAway cuts the link to us for 20 rounds, in which both peers write.
func peerAway(x *fixture, round time.Duration) {
	a := x.start("a")
	x.peers["us"].Produce("events", 1, x.messages(3)...)
	x.awaitStatus("us", "events", 1, "three copies", func(s Status) bool { return s.Next == 3 })
	a.links["us"].Cut()
	for range 20 {
		x.peers["us"].Produce("events", 1, x.messages(10)...)
		x.peers["ap"].Produce("events", 1, x.messages(1)...)
		time.Sleep(round)
	}
	time.Sleep(5 * time.Second)
	if s, _ := x.status("us", "events", 1); s.Problem == "" || s.Stopped || s.Next != 3 {
		x.Errorf("status %+v", s)
	}
	if s, _ := x.status("ap", "events", 1); s.Problem != "" || s.Next != 20 {
		x.Errorf("status %+v", s)
	}
	a.links["us"].Heal()
	x.awaitStatus("us", "events", 1, "all copies", func(s Status) bool { return s.Next == 203 && s.Problem == "" })
}

// TestLag: LagMs is never less than the age of a record that waits, whether the peer answers or
// not. The producer's clock is ahead by years, so the timestamps of the copies are of no use.
func TestLag(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		a, us := x.start("a"), x.peers["us"]
		a.links["us"].Cut()
		us.Produce("events", 1, x.messages(3)...)
		time.Sleep(30 * time.Second)
		if s, found := x.status("us", "events", 1); !found || s.LagMs != -1 {
			x.Errorf("before the first answer: %+v", s)
		}
		a.links["us"].Heal()
		x.awaitStatus("us", "events", 1, "all is copied", func(s Status) bool { return s.Next == 3 && s.LagMs >= 0 })
		time.Sleep(10 * time.Second)
		if s, _ := x.status("us", "events", 1); s.LagMs > 3000 || s.Lag() > 0 {
			x.Errorf("without a record that waits: %+v", s)
		}
		a.links["us"].Cut()
		us.Produce("events", 1, x.messages(3)...)
		time.Sleep(time.Minute)
		if s, _ := x.status("us", "events", 1); s.LagMs < 58_000 || s.LagMs > 70_000 {
			x.Errorf("the peer is away for a minute: %+v", s)
		}
		a.links["us"].Heal()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTrimmedPeer: retention of the peer deletes records before they were copied. The partition of
// that topic stops until an operator decides; the others continue. The gap counts as lost.
func TestTrimmedPeer(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.without["events.from.us"] = true
		a, us := x.start("a"), x.peers["us"]
		us.Produce("events", 2, x.messages(3)...)
		x.awaitStatus("us", "events", 2, "three copies", func(s Status) bool { return s.Next == 3 })
		a.links["us"].Cut()
		us.Produce("events", 2, x.messages(10)...)
		us.DeleteRecords("events", 2, 8)
		a.links["us"].Heal()
		stopped := x.awaitStatus("us", "events", 2, "it stops", func(s Status) bool { return s.Stopped })
		if !strings.Contains(stopped.Problem, "offsets 3 to 7 are gone: 5 records; offset 8 is the next to read") {
			x.Errorf("status %+v", stopped)
		}
		us.Produce("refunds", 2, x.messages(2)...)
		us.Produce("events", 1, x.messages(2)...)
		x.awaitStatus("us", "refunds", 2, "another topic continues", func(s Status) bool { return s.Next == 2 })
		x.awaitStatus("us", "events", 1, "another partition continues", func(s Status) bool { return s.Next == 2 })
		o, _ := events.ParseOrigin(x.copies("events.from.us", 2)[0].Headers[x.originAt("events.from.us", 2, 0)].Value)
		i := Instruction{Peer: "us", Topic: "events", From: 2, To: 8, TopicID: o.Topic, Who: "op", Why: "test", AtMs: 1}
		x.instruct(2, i) // of another offset
		x.k.CaughtUp()
		time.Sleep(30 * time.Second)
		if s, _ := x.status("us", "events", 2); !s.Stopped {
			x.Errorf("an instruction for another offset moved the position: %+v", s)
		}
		i.From = 3
		x.instruct(2, i)
		x.awaitStatus("us", "events", 2, "it continues", func(s Status) bool { return s.Next == 13 })
		us.Produce("events", 2, x.messages(1)...)
		x.k.WaitFor("nine copies", time.Minute, func() bool { return len(x.copies("events.from.us", 2)) == 9 })
		for n, want := range []events.Origin{{Offset: 2, Previous: 1}, {Offset: 8, Previous: 7}, {Offset: 9, Previous: 8}} {
			want.Topic, want.Partition = o.Topic, 2
			if got, ok := events.ParseOrigin(x.copies("events.from.us", 2)[n+2].Headers[x.originAt("events.from.us", 2, n+2)].Value); !ok || got != want {
				x.Errorf("copy %d is of %+v, want %+v", n+2, got, want)
			}
		}
		if skips := x.k.State(2, skipTable); len(skips) != 1 {
			x.Errorf("the state has the skips %q", skips)
		}
		if left := x.k.State(2, instructionTable); len(left) != 0 {
			x.Errorf("the state has the instructions %q", left)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func (x *fixture) copies(topic string, partition int32) []stream.Record {
	return processorstest.ByPartition(x.k.Records(topic))[partition]
}

func (x *fixture) originAt(topic string, partition int32, n int) int {
	return len(x.copies(topic, partition)[n].Headers) - 1
}

// TestRecreatedPeerTopic: a topic of the peer was deleted and created again, with records at the
// same offsets. Nothing of it is copied until an operator lets it begin.
func TestRecreatedPeerTopic(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.without["events.from.us"] = true
		x.start("a")
		us := x.peers["us"]
		us.Produce("events", 2, x.messages(3)...)
		x.awaitStatus("us", "events", 2, "three copies", func(s Status) bool { return s.Next == 3 })
		us.Recreate("events", partitions)
		us.Produce("events", 2, x.messages(6)...)
		s := x.awaitStatus("us", "events", 2, "it stops", func(s Status) bool { return s.Stopped })
		_, id, found := strings.Cut(s.Problem, "the topic now has id ")
		if !found || len(x.copies("events.from.us", 2)) != 3 {
			x.Fatalf("status %+v", s)
		}
		i := Instruction{Peer: "us", Topic: "events", From: 3, Who: "op", Why: "test", AtMs: 1}
		if err := i.TopicID.UnmarshalText([]byte(id[:32])); err != nil {
			x.Fatal(err)
		}
		x.instruct(2, i)
		x.k.WaitFor("nine copies", time.Minute, func() bool { return len(x.copies("events.from.us", 2)) == 9 })
		for n, want := range []events.Origin{{Offset: 0, Previous: -1}, {Offset: 1, Previous: 0}} {
			want.Topic, want.Partition = i.TopicID, 2
			if got, ok := events.ParseOrigin(x.copies("events.from.us", 2)[n+3].Headers[x.originAt("events.from.us", 2, n+3)].Value); !ok || got != want {
				x.Errorf("copy %d is of %+v, want %+v", n+3, got, want)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRecreatedPeerTopicWithoutCopies: as above, and nothing of the partition had been copied
// before.
func TestRecreatedPeerTopicWithoutCopies(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.start("a")
		us := x.peers["us"]
		x.awaitStatus("us", "events", 2, "its end is known", func(s Status) bool { return s.End == 0 })
		us.Recreate("events", partitions)
		us.Produce("events", 2, x.messages(6)...)
		s := x.awaitStatus("us", "events", 2, "it stops", func(s Status) bool { return s.Recreated })
		for p := range int32(partitions) {
			i := *s.Resume
			i.Who, i.Why, i.AtMs = "op", "test", 1
			x.instruct(p, i)
			x.awaitStatus("us", "events", p, "it continues", func(s Status) bool { return !s.Stopped && s.Lag() == 0 && s.Next >= 0 })
		}
		x.k.WaitFor("six copies", time.Minute, func() bool { return len(x.copies("events.from.us", 2)) == 6 })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInstructionOutlastsAKill: an instruction that was taken and not carried out is carried out by
// the next process.
func TestInstructionOutlastsAKill(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.without["events.from.us"] = true
		a, us := x.start("a"), x.peers["us"]
		us.Produce("events", 2, x.messages(3)...)
		x.awaitStatus("us", "events", 2, "three copies", func(s Status) bool { return s.Next == 3 })
		o, _ := events.ParseOrigin(x.copies("events.from.us", 2)[0].Headers[x.originAt("events.from.us", 2, 0)].Value)
		a.links["us"].Cut()
		us.Produce("events", 2, x.messages(10)...)
		us.DeleteRecords("events", 2, 8)
		x.instruct(2, Instruction{Peer: "us", Topic: "events", From: 3, To: 8, TopicID: o.Topic, Who: "op", Why: "test", AtMs: 1})
		a.KillAt(processorstest.Failpoints()[len(processorstest.Failpoints())-1])
		time.Sleep(10 * time.Second)
		a.Kill()
		x.start("a")
		x.awaitStatus("us", "events", 2, "it continues", func(s Status) bool { return s.Next == 13 })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBadInstruction: a record that is not an instruction is rejected, with a reason.
func TestBadInstruction(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.start("a")
		for n, value := range []string{"{", `{"peer":"us","topic":"events","from":-1}`, `{"peer":"us","topic":"events","from":1,"to":2}`, `{"peer":"mars","topic":"events","from":1,"to":2,"topic_id":"00000000000000000000000000000001"}`} {
			x.k.Produce(events.MirrorControlTopic, int32(n), "", value)
		}
		x.k.CaughtUp()
		x.k.WaitFor("four rejects", time.Minute, func() bool { return len(x.k.Records("mirror.dlq")) == 4 })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestQuietMirror: without records and heartbeats there is no transaction.
func TestQuietMirror(t *testing.T) {
	err := inRuntime(t, 1, func(c *Config) { c.Heartbeats = "" }, func(x *fixture) {
		x.start("a")
		x.peers["us"].Produce("events", 2, x.messages(3)...)
		x.awaitStatus("us", "events", 2, "three copies", func(s Status) bool { return s.Next == 3 })
		time.Sleep(10 * time.Second)
		before := len(x.k.Records(events.MirrorStateTopic))
		time.Sleep(time.Minute)
		if n := len(x.k.Records(events.MirrorStateTopic)) - before; n > 0 {
			x.Errorf("%d records of transactions in a quiet minute", n)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOtherPartitions: a peer with another number of partitions has the accounts in other
// partitions. Nothing of it is copied; the other peer is.
func TestOtherPartitions(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.peers["us"] = processorstest.NewRemote(x.T, 6, "events", "refunds")
		x.without["events.from.us"] = true
		x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(3)...)
		x.peers["ap"].Produce("events", 1, x.messages(3)...)
		s := x.awaitStatus("us", "events", 1, "it stops", func(s Status) bool { return s.Stopped })
		if !strings.Contains(s.Problem, "events has 6 partitions, and 4 are expected") || len(x.copies("events.from.us", 1)) > 0 {
			x.Errorf("status %+v", s)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
