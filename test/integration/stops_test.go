package integration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// TestGracefulStop stops one of two processes under load, in turn. The process commits what it has
// folded and leaves the group; the other one takes its partitions over, for which no session
// timeout has to pass, and nothing is folded twice.
func TestGracefulStop(t *testing.T) {
	c := alone(t)
	f := follow(c)
	leaves, stays := newInstance(c, "a", longSession).start(), newInstance(c, "b", longSession).start()
	leaves.ready()
	stays.ready()
	l := startLoad(c, 2, 10_000, 100_000)
	for range 2 {
		f.settled(c, leaves, stays)
		owned, asked := f.owned(leaves.name), time.Now()
		leaves.signal(syscall.SIGTERM)
		if code := leaves.exit(); code != 0 {
			t.Errorf("%s: exit code %d\n%s", leaves.name, code, leaves.output())
		}
		ended := time.Now()
		last := f.servedBy(stays.name, owned, asked)
		t.Logf("%s ended %s after SIGTERM, %s served its %d partitions %s after that", leaves.name, ended.Sub(asked), stays.name, len(owned), last.Sub(ended))
		leaves, stays = stays, leaves.instance.start()
		stays.ready()
	}
	f.check(c, l.finish(), 0)

	// Without load: a restarted process has nothing to read but its own barriers.
	stays.signal(syscall.SIGTERM)
	code := stays.exit()
	leaves.signal(syscall.SIGTERM)
	if other := leaves.exit(); code != 0 || other != 0 {
		t.Errorf("exit codes %d and %d", code, other)
	}
	again := leaves.instance.start()
	_, ops := again.ready()
	again.signal(syscall.SIGTERM)
	_ = ops
	if code := again.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

var releasedLine = regexp.MustCompile(`"partition":(\d+),.*"partition_released"`)

// TestZombie suspends a process until the group and the transaction coordinator have given it up
// and another process owns its partitions. When the process resumes in the middle of its work, it
// must not write, and it must rejoin the group.
func TestZombie(t *testing.T) {
	c := alone(t)
	f := follow(c)
	timeouts := "processor: {session_timeout: 6s, transaction_timeout: 7s}"
	a, b := newInstance(c, "a", timeouts).start(), newInstance(c, "b", timeouts).start()
	addr, _ := a.ready()
	b.ready()
	l := startLoad(c, 4, 10_000, 100_000)
	f.settled(c, a, b)
	pass(t, time.Second)
	owned, stopped := f.owned(a.name), time.Now()
	a.signal(syscall.SIGSTOP)
	last := f.servedBy(b.name, owned, stopped)
	if since := last.Sub(stopped); since < 5*time.Second {
		t.Errorf("taken over after %s: before the session timeout", since)
	}
	t.Logf("%d partitions served by the other process %s after SIGSTOP", len(owned), last.Sub(stopped))
	pass(t, time.Second)

	before, resumed := len(a.output()), time.Now()
	a.signal(syscall.SIGCONT)
	testlimit.Within(t, "the zombie rejoins", func(ctx context.Context) error {
		a.alive()
		n, err := a.running(ctx, addr)
		if err == nil && (n == 0 || len(f.takeovers(a.name, resumed)) == 0) {
			err = errors.New("it has no new record")
		}
		released := map[string]bool{}
		for _, m := range releasedLine.FindAllStringSubmatch(a.output()[before:], -1) {
			released[m[1]] = true
		}
		for p := range owned {
			if !released[fmt.Sprint(p)] {
				err = errors.Join(err, fmt.Errorf("its log does not report that it lost partition %d", p))
			}
		}
		return err
	})
	t.Logf("new records %s after SIGCONT", f.takeovers(a.name, resumed)[0].appliedAt.Sub(resumed))
	f.check(c, l.finish(), 0)
	a.alive()
	b.alive()
}

// TestStopWithoutBroker: the broker is frozen when two processes get SIGTERM. One ends at its time
// limit with an exit code of its own. The other one still waits, and a second SIGTERM ends it at
// once. Both lose nothing.
func TestStopWithoutBroker(t *testing.T) {
	c := shared(t)
	f := follow(c)
	limited, waits := newInstance(c, "a", "processor: {shutdown_timeout: 1s}").start(), newInstance(c, "b").start()
	limited.ready()
	waits.ready()
	l := startLoad(c, 8, 10_000, 50_000)
	f.settled(c, limited, waits)
	c.brokers[0].docker(t, "kill", "--signal", "STOP")
	frozen := true
	thaw := func() {
		if frozen {
			frozen = false
			c.brokers[0].docker(t, "kill", "--signal", "CONT")
		}
	}
	defer thaw()
	asked := time.Now()
	limited.signal(syscall.SIGTERM)
	waits.signal(syscall.SIGTERM)
	if code := limited.exit(); code != 1 || !strings.Contains(limited.output(), "processor.shutdown_timeout") {
		t.Errorf("exit code %d %s after SIGTERM, want 1 with the setting\n%s", code, time.Since(asked), limited.output())
	}
	waits.alive()
	waits.signal(syscall.SIGTERM)
	waits.exit()
	if status, ok := waits.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("after a second SIGTERM: %s, want an end by the signal", waits.cmd.ProcessState)
	}
	thaw()
	limited.instance.start().ready()
	waits.instance.start().ready()
	f.check(c, l.finish(), 0)
}

// TestInstanceTaken: two processes run under one instance name. One of them ends with an exit code
// that a supervisor can distinguish from a crash, and names the cause. On a slow machine each can
// take a membership from the other, and then both end so. The process that is left, or started
// again, continues, and nothing is lost or counted twice.
func TestInstanceTaken(t *testing.T) {
	c := alone(t)
	f := follow(c)
	first := newInstance(c, "a").start()
	first.ready()
	l := startLoad(c, 9, 10_000, 25_000)
	second := newInstance(c, "a").start() // another directory
	taken := func(p *process) {
		t.Helper()
		if code := p.exit(); code != 78 {
			t.Errorf("exit code %d, want 78", code)
		}
		for _, want := range []string{p.name, "another process", "set another instance"} {
			if !strings.Contains(p.output(), want) {
				t.Errorf("the output lacks %q:\n%s", want, p.output())
			}
		}
	}
	left := second
	testlimit.Within(t, "one of the processes ends", func(context.Context) error {
		select {
		case <-first.ended:
			taken(first)
		case <-second.ended:
			taken(second)
			left = first
		default:
			return errors.New("both processes run under one name")
		}
		return nil
	})
	ledger := l.finish()
	ends, err := c.ends(testlimit.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	testlimit.Within(t, "the other process catches up, or ends too and is started again", func(ctx context.Context) error {
		select {
		case <-left.ended:
			taken(left)
			left = left.instance.start()
		default:
		}
		addr, _, err := left.addresses()
		if err != nil {
			return err
		}
		n, err := left.running(ctx, addr)
		if err == nil && n != 24 {
			err = fmt.Errorf("it runs %d partitions", n)
		}
		return errors.Join(err, f.behind(ends))
	})
	f.check(c, ledger, 0)
	left.alive()
}
