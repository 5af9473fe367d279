package integration

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// onDemand skips a test unless WEIR_TEST_BROKERS or WEIR_TEST_SOAK is set.
func onDemand(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("WEIR_TEST_BROKERS") == "" && os.Getenv("WEIR_TEST_SOAK") == "" {
		t.Skip(why + "; WEIR_TEST_BROKERS=1 runs it")
	}
}

// TestBrokerRestart restarts the only broker under load, first gracefully and then after SIGKILL.
// The process keeps running and catches up by itself.
func TestBrokerRestart(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a").start()
	addr, _ := a.ready()
	l := startLoad(c, 1, 10_000, 150_000)
	for _, fault := range []struct {
		name  string
		steps [][]string
	}{
		{"stopped and started", [][]string{{"restart", "-t", "30"}}},
		{"killed and started", [][]string{{"kill", "--signal", "KILL"}, {"start"}}},
	} {
		pass(t, 2*time.Second)
		began := time.Now()
		for _, step := range fault.steps {
			c.brokers[0].docker(t, step...)
		}
		testlimit.Within(t, "the broker serves again", func(ctx context.Context) error { return serves(ctx, c.addrs(), 1) })
		took := f.caughtUp(c)
		a.alive()
		t.Logf("broker %s: down for %s, caught up %s later", fault.name, time.Since(began)-took, took)
	}
	ledger := l.finish()
	f.check(c, ledger, 0)
	a.alive()
	a.folds(addr, 24)
}

// TestThreeBrokers restarts all brokers of a cluster of three under load, one after another.
func TestThreeBrokers(t *testing.T) {
	onDemand(t, "takes four minutes")
	need(t)
	c := newCluster(t, threeBrokers(t)...)
	c.createTopics(3)
	f := follow(c)
	a, b := newInstance(c, "a").start(), newInstance(c, "b").start()
	a.ready()
	b.ready()
	l := startLoad(c, 3, 5_000, 100_000)
	for i, broker := range c.brokers {
		pass(t, time.Second)
		began := time.Now()
		broker.docker(t, "restart", "-t", "30")
		testlimit.Within(t, "all replicas in sync again", func(ctx context.Context) error {
			if err := serves(ctx, c.addrs(), 3); err != nil {
				return err
			}
			return c.inSync(ctx, 3)
		})
		took := f.caughtUp(c)
		a.alive()
		b.alive()
		t.Logf("broker %d restarted and in sync after %s, caught up %s later", i+1, time.Since(began)-took, took)
	}
	f.check(c, l.finish(), 0)
	a.alive()
	b.alive()
}
