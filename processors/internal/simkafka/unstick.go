package simkafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	stuckAfter  = 90 * time.Second // twice what a rebalance with a silent member takes
	quietPeriod = 45 * time.Second // longer than any member's rebalance timeout
)

// Unstick keeps group's rebalances going until the cluster is closed. kfake counts the members that wait in a join, and counts one
// too few once a static member comes back while its former self waits in a sync (replaceStaticMember, then removeMember).
// From then on a rebalance ends by its timeout alone, which each further join sets anew: members that try again every few
// seconds wait for ever. A while without joins lets the timeout come, and the count begins at 0.
func (c *Cluster) Unstick(group string) {
	c.unstick.Go(func() {
		since, epoch := time.Now(), int32(-1)
		for c.pause(5 * time.Second) {
			g := c.GroupInfo(group)
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
			no := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Group: group, Err: kerr.CoordinatorLoadInProgress, Count: -1})
			c.pause(quietPeriod)
			no.Remove()
			since = time.Now()
		}
	})
}

// pause waits for d; it is false if the cluster is closed before.
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

// Close ends the cluster.
func (c *Cluster) Close() {
	close(c.closed)
	c.unstick.Wait()
	c.Cluster.Close()
}
