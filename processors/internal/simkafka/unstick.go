package simkafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/internal/pause"
)

const (
	stuckAfter  = 90 * time.Second // twice the duration of a rebalance with an unresponsive member
	quietPeriod = 45 * time.Second // longer than any member's rebalance timeout
)

// Unstick completes rebalances of group that kfake cannot complete, until the cluster is closed.
// kfake counts the members that wait in a join. It counts one too few after a static member comes
// back while its former session waits in a sync (replaceStaticMember, then removeMember). From then
// on a rebalance ends by its timeout alone, and each further join restarts the timeout: members
// that retry every few seconds wait for ever. Unstick refuses joins for a while, so that the
// timeout passes and the count restarts at 0.
func (c *Cluster) Unstick(group string) {
	expiry := newExpiry(c, group)
	c.unstick.Go(func() {
		since, epoch := time.Now(), int32(-1)
		for c.pause(time.Second) {
			g := c.GroupInfo(group)
			if g != nil {
				expiry.check(g)
			}
			if g == nil || g.State != "PreparingRebalance" || g.Epoch != epoch {
				since, epoch = time.Now(), -1
				if g != nil {
					epoch = g.Epoch
				}
				continue
			}
			if time.Since(since) < stuckAfter {
				continue
			}
			refusal := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Group: group, Err: kerr.CoordinatorLoadInProgress, Count: -1})
			c.pause(quietPeriod)
			refusal.Remove()
			since = time.Now()
		}
	})
}

// pause waits for d. It returns false if the cluster is closed first.
func (c *Cluster) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.closed:
		return false
	case <-timer.C:
		return true
	}
}

// Close ends the cluster. Clients that were closed before may still have begun a request. Close
// waits for it: in a bubble of testing/synctest no time passes after the test function has ended.
func (c *Cluster) Close() {
	close(c.closed)
	c.unstick.Wait()
	c.Cluster.Close()
	pause.For(context.Background(), requestEnd)
}

// requestEnd is longer than the latency of a request.
const requestEnd = 100 * time.Millisecond
