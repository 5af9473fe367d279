package integration

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
)

// TestKillWithinRebalance kills both processes while partitions move from one to the other: the
// group is stable, and the moving partitions have no owner. The restarted processes join the stable
// group as the same static members, and the broker rebalances nothing for them. All partitions have
// to continue.
func TestKillWithinRebalance(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a, b := newInstance(c, "a", longSession), newInstance(c, "b", longSession)
	l := startLoad(c, 1, 10_000, 50_000)
	try := 1
	for ; !c.killWithinRebalance(a, b); try++ {
		if try == 20 {
			t.Fatal("no rebalance was interrupted")
		}
	}
	t.Logf("killed within a rebalance at try %d", try)
	began := time.Now()
	p, q := a.start(), b.start()
	p.ready()
	q.ready()
	f.check(c, l.finish(), 0)
	t.Logf("all partitions continued and caught up within %s", time.Since(began).Round(time.Millisecond))
}

// killWithinRebalance starts a, then b, and kills both when the stable group has partitions without
// an owner. It returns whether the group stayed so. If not, both have stopped.
func (c *cluster) killWithinRebalance(a, b *instance) bool {
	first := a.start()
	first.ready()
	second := b.start()
	ctx, all := testlimit.Context(c.t), 2*processors.DefaultWorkers()
	for ctx.Err() == nil {
		members, assigned := c.stable(ctx)
		if members < all { // a member that joins later would start a rebalance
			continue
		}
		if assigned == 24 {
			break
		}
		for _, p := range []*process{first, second} {
			_ = p.cmd.Process.Kill() // an error means that it has exited
		}
		<-first.ended
		<-second.ended
		members, assigned = c.stable(ctx)
		return members == all && assigned < 24
	}
	for _, p := range []*process{first, second} {
		p.signal(syscall.SIGTERM)
		p.exit()
	}
	return false
}

// stable returns the number of members of the spend counter's group, and of partitions that they
// own; zeros unless the group is stable.
func (c *cluster) stable(ctx context.Context) (members, assigned int) {
	owners, err := c.assignment(ctx)
	if err != nil {
		return 0, 0
	}
	for _, ps := range owners {
		assigned += len(ps)
	}
	return len(owners), assigned
}
