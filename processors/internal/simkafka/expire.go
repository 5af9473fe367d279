package simkafka

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sessionMargin is how much later than kfake expiry removes a member.
const sessionMargin = time.Second

// expiry repairs the session timeouts of a group.
//
// A broker starts the session timeout of each member when a join ends. kfake starts it only if the
// answer reached the member's connection: a member that dies while it waits in a join would stay
// for ever, with partitions that no process runs. expiry removes it.
//
// A broker watches no session timeout of a member that waits in a sync. kfake does, so that members
// that wait for a dead leader would be removed with it. expiry sends heartbeats for them.
type expiry struct {
	c       *Cluster
	group   string
	state   string
	epoch   int32
	entered time.Time // when state and epoch were first seen
	// Guarded by c.mu: session is the greatest session timeout, and requests are by member.
	session time.Duration
	last    map[string]time.Time // the last request
	synced  map[string]int32     // the generation of the last sync
}

func newExpiry(c *Cluster, group string) *expiry {
	e := &expiry{c: c, group: group, last: map[string]time.Time{}, synced: map[string]int32{}}
	for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat} {
		c.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			e.request(req)
			return nil, nil, false
		})
	}
	return e
}

// request notes a request of a member.
func (e *expiry) request(req kmsg.Request) {
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		if r.Group == e.group {
			e.session = max(e.session, time.Duration(r.SessionTimeoutMillis)*time.Millisecond)
		}
	case *kmsg.SyncGroupRequest:
		if r.Group == e.group {
			e.last[r.MemberID], e.synced[r.MemberID] = time.Now(), r.Generation
		}
	case *kmsg.HeartbeatRequest:
		if r.Group == e.group {
			e.last[r.MemberID] = time.Now()
		}
	}
}

// check removes the expired members of g, and keeps those that wait in a sync.
func (e *expiry) check(g *kfake.GroupInfo) {
	if g.State != e.state || g.Epoch != e.epoch {
		e.state, e.epoch, e.entered = g.State, g.Epoch, time.Now()
	}
	if g.State != "Stable" && g.State != "CompletingRebalance" {
		return
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = e.group
	var requests []kmsg.Request
	e.c.mu.Lock()
	for _, m := range g.Members {
		began := slices.MaxFunc([]time.Time{e.entered, e.last[m.MemberID]}, time.Time.Compare)
		switch {
		case g.State == "CompletingRebalance" && e.synced[m.MemberID] == g.Epoch:
			beat := kmsg.NewPtrHeartbeatRequest()
			beat.Group, beat.MemberID, beat.InstanceID, beat.Generation = e.group, m.MemberID, m.InstanceID, g.Epoch
			requests = append(requests, beat)
		case time.Since(began) > e.session+sessionMargin:
			member := kmsg.NewLeaveGroupRequestMember()
			member.MemberID, member.InstanceID = m.MemberID, m.InstanceID
			leave.Members = append(leave.Members, member)
		}
	}
	e.c.mu.Unlock()
	if len(leave.Members) > 0 {
		requests = append(requests, leave)
	}
	e.send(requests)
}

// send sends requests. What fails is repeated in the next round.
func (e *expiry) send(requests []kmsg.Request) {
	if len(requests) == 0 {
		return
	}
	cl, err := kgo.NewClient(e.c.Link().Options()...)
	if err != nil {
		return
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), sessionMargin)
	defer cancel()
	for _, req := range requests {
		_, _ = cl.Request(ctx, req)
	}
}
