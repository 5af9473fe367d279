//go:build synctests

package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/processors/processorstest"
)

// TestOwnLog: the brokers of a peer are those of this datacentre. Nothing is copied, and the status
// has the reason. The other peer is copied.
func TestOwnLog(t *testing.T) {
	own := func(c *Config) {
		if len(c.Peers[0].Kafka.Brokers) > 0 {
			c.Own = c.Peers[0].Kafka
		}
	}
	err := inRuntime(t, 1, own, func(x *fixture) {
		x.without["events.from.us"], x.without["refunds.from.us"] = true, true
		x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(3)...)
		x.peers["ap"].Produce("events", 1, x.messages(3)...)
		s := x.awaitStatus("us", "events", 1, "it stops", func(s Status) bool { return s.Stopped })
		if !strings.Contains(s.Problem, "which is that of this datacentre") || !strings.Contains(s.Problem, "Correct the brokers of us") || s.Resume != nil || len(x.copies("events.from.us", 1)) > 0 {
			x.Errorf("status %+v", s)
		}
		x.awaitStatus("ap", "events", 1, "the other peer is copied", func(s Status) bool { return s.Next == 3 && !s.Stopped })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOneLogTwice: two datacentres of the configuration have the same brokers. One of them is
// copied.
func TestOneLogTwice(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.peers["ap"] = x.peers["us"]
		x.without["events.from.us"], x.without["events.from.ap"] = true, true
		x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(3)...)
		x.k.WaitFor("one of them stops", time.Minute, func() bool {
			us, _ := x.status("us", "events", 1)
			ap, _ := x.status("ap", "events", 1)
			return us.Stopped != ap.Stopped && max(us.Next, ap.Next) == 3
		})
		time.Sleep(time.Minute)
		if n := len(x.copies("events.from.us", 1)) + len(x.copies("events.from.ap", 1)); n != 3 {
			x.Errorf("%d copies of 3 records", n)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInstructionIntoAnotherLog: a datacentre gets the brokers of another one, which looks like a
// topic that was created again. An instruction to continue there is refused.
func TestInstructionIntoAnotherLog(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		p := x.start("a")
		for _, dc := range []string{"us", "ap"} {
			x.peers[dc].Produce("events", 1, x.messages(3)...)
			x.awaitStatus(dc, "events", 1, "three copies", func(s Status) bool { return s.Next == 3 })
		}
		x.k.CaughtUp()
		p.Stop()
		x.peers["ap"] = x.peers["us"] // ap is before us in the order of the state
		x.without["events.from.ap"] = true
		p = x.start("a")
		s := x.awaitStatus("ap", "events", 1, "it stops", func(s Status) bool { return s.Recreated })
		i := *s.Resume
		i.Who, i.Why, i.AtMs = "op", "test", 1
		x.instruct(1, i)
		x.awaitStatus("ap", "events", 1, "the instruction is refused", func(s Status) bool {
			return s.Stopped && s.Resume == nil && strings.Contains(s.Problem, "as us/events")
		})
		x.k.CaughtUp()
		p.Stop()
		x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(2)...)
		x.awaitStatus("us", "events", 1, "us is copied", func(s Status) bool { return s.Next == 5 && s.Problem == "" })
		if n := len(x.copies("events.from.ap", 1)); n != 3 {
			x.Errorf("%d copies as those of ap", n)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRenamedPeer: a datacentre gets another name in the configuration. Its log is not copied again
// under the new name, and continues where it was under the former one.
func TestRenamedPeer(t *testing.T) {
	name := "us"
	err := inRuntime(t, 1, func(c *Config) { c.Peers[0].DC = name }, func(x *fixture) {
		p := x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(3)...)
		x.awaitStatus("us", "events", 1, "three copies", func(s Status) bool { return s.Next == 3 })
		x.k.CaughtUp()
		p.Stop()
		name = "us2"
		x.peers[name], x.without["events.from.us2"], x.without["refunds.from.us2"] = x.peers["us"], true, true
		p = x.start("a")
		x.peers["us"].Produce("events", 1, x.messages(2)...)
		s := x.awaitStatus("us2", "events", 1, "it stops", func(s Status) bool { return s.Stopped })
		if !strings.Contains(s.Problem, "as us/events: its records would be counted twice") || !strings.Contains(s.Problem, "former name") {
			x.Errorf("status %+v", s)
		}
		if n := len(processorstest.ByPartition(x.k.Records("events.from.us2"))[1]); n > 0 {
			x.Errorf("%d copies under the new name", n)
		}
		p.Stop()
		name = "us"
		x.start("a")
		x.awaitStatus("us", "events", 1, "it continues", func(s Status) bool { return s.Next == 5 })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInstructionWithoutOwnBrokers: the brokers of this datacentre do not answer the question for
// the id of its topic when an instruction is carried out. It is carried out when they do.
func TestInstructionWithoutOwnBrokers(t *testing.T) {
	var own processorstest.RemoteLink
	err := inRuntime(t, 1, func(c *Config) { c.Own = own.Kafka }, func(x *fixture) {
		own = processorstest.NewRemote(x.T, partitions, "events", "refunds").Link()
		x.without["events.from.us"] = true
		p, us := x.start("a"), x.peers["us"]
		us.Produce("events", 2, x.messages(3)...)
		x.awaitStatus("us", "events", 2, "three copies", func(s Status) bool { return s.Next == 3 })
		x.k.CaughtUp()
		p.Stop()
		us.Produce("events", 2, x.messages(10)...)
		us.DeleteRecords("events", 2, 8)
		x.start("a")
		s := x.awaitStatus("us", "events", 2, "it stops", func(s Status) bool { return s.Stopped })
		own.Cut()
		i := *s.Resume
		i.Who, i.Why, i.AtMs = "op", "test", 1
		x.instruct(2, i)
		x.awaitStatus("us", "events", 2, "it waits", func(s Status) bool {
			return strings.Contains(s.Problem, "ask the brokers of this datacentre") && !s.Stopped
		})
		own.Heal()
		x.awaitStatus("us", "events", 2, "it continues", func(s Status) bool { return s.Next == 13 && s.Problem == "" })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOwnTopicNotDescribed: the user may not describe one of the topics of this datacentre. That
// topic waits, with the reason, and the other is copied. The first is copied when the user may.
func TestOwnTopicNotDescribed(t *testing.T) {
	var own *processorstest.Remote
	err := inRuntime(t, 1, func(c *Config) {
		if own != nil {
			c.Own = own.Link().Kafka
		}
	}, func(x *fixture) {
		own = processorstest.NewRemote(x.T, partitions, "events", "refunds")
		oneTopicDenied(x, own, "grant the rights of `weir doctor --acls`")
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPeerTopicNotDescribed: as above, for a topic of the peer.
func TestPeerTopicNotDescribed(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) { oneTopicDenied(x, x.peers["us"], "TOPIC_AUTHORIZATION_FAILED") })
	if err != nil {
		t.Error(err)
	}
}

func oneTopicDenied(x *fixture, at *processorstest.Remote, reason string) {
	x.peers["us"].Produce("events", 2, x.messages(3)...)
	x.peers["us"].Produce("refunds", 2, x.messages(3)...)
	allow := at.Deny("events")
	x.start("a")
	x.awaitStatus("us", "refunds", 2, "the other topic is copied", func(s Status) bool { return s.Next == 3 && s.Problem == "" })
	x.awaitStatus("us", "events", 2, "it waits", func(s Status) bool { return strings.Contains(s.Problem, reason) && !s.Stopped })
	allow()
	x.awaitStatus("us", "events", 2, "it continues", func(s Status) bool { return s.Next == 3 && s.Problem == "" })
}
