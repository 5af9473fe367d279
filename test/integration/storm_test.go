package integration

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// TestRebalanceStorm starts and stops a process every two seconds, gracefully or with kill -9,
// under load. The counts stay exact, and at the end every partition has one owner.
func TestRebalanceStorm(t *testing.T) {
	c := shared(t)
	_, seed := seeded(t)
	f := follow(c)
	a := newInstance(c, "a", "processor: {standbys: 1}").start()
	addr, _ := a.ready()
	l := startLoad(c, seed, soak[int64](8_000, 15_000), soak[int64](120_000, 250_000))
	guest := newInstance(c, "b", "processor: {standbys: 1}")
	for n := range 7 {
		b := guest.start()
		pass(t, 2*time.Second)
		if n%3 == 2 {
			b.kill()
		} else {
			b.signal(syscall.SIGTERM)
			if code := b.exit(); code != 0 {
				t.Errorf("visit %d: exit code %d\n%s", n, code, b.output())
			}
		}
		a.alive()
	}
	ledger := l.finish()
	f.check(c, ledger, 0)
	a.folds(addr, 24)
}

// TestBrokerAway suspends the only broker under load, for longer than every timeout of the client
// and of the runtime, which are 45 s at most. The process keeps running, reports that it is not
// ready, needs no more memory, and catches up by itself.
func TestBrokerAway(t *testing.T) {
	onDemand(t, "takes two minutes")
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a").start()
	addr, ops := a.ready()
	l := startLoad(c, 6, 10_000, 100_000)
	pass(t, 3*time.Second)
	before := a.memory("VmRSS")
	c.brokers[0].docker(t, "kill", "--signal", "STOP")
	began := time.Now()
	testlimit.Within(t, "the process is not ready", func(ctx context.Context) error { return notReady(ctx, ops) })
	t.Logf("not ready after %s", time.Since(began).Round(time.Second))
	pass(t, 75*time.Second-time.Since(began))
	a.alive()
	if now := a.memory("VmRSS"); now > before+64<<20 {
		t.Errorf("%d bytes resident, %d before the broker was suspended", now, before)
	}
	c.brokers[0].docker(t, "kill", "--signal", "CONT")
	back := time.Now()
	testlimit.Within(t, "the broker serves again", func(ctx context.Context) error { return serves(ctx, c.addrs(), 1) })
	f.caughtUp(c)
	t.Logf("caught up %s after the broker resumed", time.Since(back).Round(time.Millisecond))
	f.check(c, l.finish(), 0)
	a.folds(addr, 24)
}

// notReady returns an error unless the readiness probe reports that the process is not ready.
func notReady(ctx context.Context, ops string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("readyz answers %d", res.StatusCode)
	}
	return nil
}
