package integration

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// TestKillWithinRebalance kills both processes while partitions move from one to the other: the
// group is stable, and the moving partitions have no owner. The restarted processes join the stable
// group as the same static members, and the broker rebalances nothing for them. All partitions have
// to continue.
func TestKillWithinRebalance(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a, b := newInstance(c, "a"), newInstance(c, "b")
	l := startLoad(c, 1, 20_000, 100_000)
	try := 0
	for !c.killWithinRebalance(a, b) {
		if try++; try == 10 {
			t.Fatal("no rebalance was interrupted")
		}
	}
	t.Logf("killed within a rebalance at try %d", try+1)
	began := time.Now()
	p, q := a.start(), b.start()
	p.ready(30 * time.Second)
	q.ready(30 * time.Second)
	f.check(c, l.finish(time.Minute), 0)
	t.Logf("all partitions continued and caught up within %s", time.Since(began).Round(time.Millisecond))
}

// killWithinRebalance starts a, then b, and kills both when the stable group has partitions without
// an owner. It returns whether the group stayed so. If not, both have stopped.
func (c *cluster) killWithinRebalance(a, b *instance) bool {
	first := a.start()
	first.ready(30 * time.Second)
	second := b.start()
	ctx, cancel := context.WithTimeout(c.t.Context(), 15*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		members, assigned := c.stable(ctx)
		if members < 8 { // a member that joins later would start a rebalance
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
		return members == 8 && assigned < 24
	}
	for _, p := range []*process{first, second} {
		p.signal(syscall.SIGTERM)
		p.exit(20 * time.Second)
	}
	return false
}

// stable returns the number of members of the spend counter's group, and of partitions that they
// own; zeros unless the group is stable.
func (c *cluster) stable(ctx context.Context) (members, assigned int) {
	groups, err := c.adm.DescribeGroups(ctx, "spendcounter")
	g := groups["spendcounter"]
	if err != nil || g.State != "Stable" {
		return 0, 0
	}
	for _, m := range g.Members {
		if has, ok := m.Assigned.AsConsumer(); ok && len(has.Topics) > 0 {
			assigned += len(has.Topics[0].Partitions)
		}
	}
	return len(g.Members), assigned
}
