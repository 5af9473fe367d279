//go:build synctests

package simkafka

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a static member that sends the requests of the group protocol itself.
type member struct {
	t    *testing.T
	c    *Cluster
	name string
	id   string
	gen  int32
}

// ask sends a request on its own connection and waits for the answer. It returns nil after the
// timeout.
func (m *member) ask(req kmsg.Request, wait time.Duration) kmsg.Response {
	cl, err := kgo.NewClient(m.c.Link().Options()...)
	if err != nil {
		m.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	resp, err := cl.Request(ctx, req)
	if err != nil {
		return nil
	}
	return resp
}

// join sends a join and reports whether the member is in a generation. A member without an id
// replaces its former session.
func (m *member) join(wait time.Duration) bool {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.InstanceID, req.MemberID, req.ProtocolType = "g", &m.name, m.id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 45_000, 30_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	resp, _ := m.ask(req, wait).(*kmsg.JoinGroupResponse)
	if resp == nil {
		return false
	}
	if resp.ErrorCode != 0 {
		if kerr.ErrorForCode(resp.ErrorCode) == kerr.UnknownMemberID {
			m.id = ""
		}
		return false
	}
	m.id, m.gen = resp.MemberID, resp.Generation
	return true
}

// sync waits for the leader's assignment, which does not come.
func (m *member) sync() {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.InstanceID, req.MemberID, req.Generation = "g", &m.name, m.id, m.gen
	if resp, _ := m.ask(req, time.Second).(*kmsg.SyncGroupResponse); resp != nil {
		m.t.Errorf("the follower's sync ended with %v", kerr.ErrorForCode(resp.ErrorCode))
	}
}

// heartbeat sends a heartbeat.
func (m *member) heartbeat() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.InstanceID, req.MemberID, req.Generation = "g", &m.name, m.id, m.gen
	m.ask(req, time.Second)
}

// TestUnstick: a static member comes back while its former session waits in a sync. Without Unstick
// the group never becomes stable. When this test fails, kfake counts correctly and Unstick can be
// removed.
func TestUnstick(t *testing.T) {
	for _, with := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(1, "in")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if with {
				c.Unstick("g")
			}
			a, b := &member{t: t, c: c, name: "a"}, &member{t: t, c: c, name: "b"}
			if !a.join(time.Second) {
				t.Fatal("a did not join")
			}
			joined := make(chan bool)
			go func() { joined <- b.join(10 * time.Second) }()
			time.Sleep(time.Second)
			if !a.join(time.Second) || !<-joined {
				t.Fatal("a and b did not join")
			}
			b.sync()
			b.id = ""
			got := false
			for end := time.Now().Add(10 * time.Minute); !got && time.Now().Before(end); {
				go func() { joined <- b.join(10 * time.Second) }()
				inA := a.join(10 * time.Second)
				got = <-joined && inA
				time.Sleep(time.Second)
			}
			if got != with {
				t.Errorf("with Unstick: %t; the group became stable: %t", with, got)
			}
		})
	}
}

// TestExpiry: a member dies while it waits in a join. Without Unstick it can be a member for ever:
// kfake loses its session timeout in about half of the runs. When this test fails, kfake watches
// the session timeout and expiry can be removed.
func TestExpiry(t *testing.T) {
	for _, with := range []bool{false, true} {
		stayed := 0
		for range 30 {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(1, "in")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if with {
					c.Unstick("g")
				}
				a, b := &member{t: t, c: c, name: "a"}, &member{t: t, c: c, name: "b"}
				if !a.join(time.Second) || b.join(time.Second) || !a.join(time.Second) {
					t.Fatal("a did not join twice, or b did not die")
				}
				req := kmsg.NewPtrSyncGroupRequest()
				req.Group, req.InstanceID, req.MemberID, req.Generation = "g", &a.name, a.id, a.gen
				if resp, _ := a.ask(req, time.Second).(*kmsg.SyncGroupResponse); resp == nil || resp.ErrorCode != 0 {
					t.Fatal("the leader's sync failed")
				}
				there := func() bool {
					return slices.ContainsFunc(c.GroupInfo("g").Members, func(m kfake.GroupMember) bool { return *m.InstanceID == "b" })
				}
				for range 4 {
					time.Sleep(10 * time.Second)
					a.heartbeat()
				}
				if !there() {
					t.Errorf("with Unstick: %t; the dead member was removed before its session timeout", with)
				}
				time.Sleep(10 * time.Second)
				if there() {
					stayed++
				}
			})
		}
		if with != (stayed == 0) {
			t.Errorf("with Unstick: %t; the dead member stayed in %d of 30 runs", with, stayed)
		}
	}
}
