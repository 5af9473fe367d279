package integration

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGracefulStop stops one of two processes under load, in turn. The process commits what it has
// folded and leaves the group; the other one takes its partitions over at once, and nothing is
// folded twice.
func TestGracefulStop(t *testing.T) {
	c := shared(t)
	f := follow(c)
	leaves, stays := newInstance(c, "a").start(), newInstance(c, "b").start()
	leaves.ready(30 * time.Second)
	stays.ready(30 * time.Second)
	l := startLoad(c, 2, 20_000, 200_000)
	for range 2 {
		within(t, 30*time.Second, "both fold", func(context.Context) error {
			if own, others := len(f.owned(leaves.name)), len(f.owned(stays.name)); own < 4 || others < 4 || own+others != 24 {
				return errors.New("the partitions are not shared yet")
			}
			return nil
		})
		owned, asked := f.owned(leaves.name), time.Now()
		leaves.signal(syscall.SIGTERM)
		if code := leaves.exit(10 * time.Second); code != 0 {
			t.Errorf("%s: exit code %d\n%s", leaves.name, code, leaves.output())
		}
		ended := time.Now()
		last := f.servedBy(stays.name, owned, asked, 30*time.Second)
		t.Logf("%s ended %s after SIGTERM, %s served its %d partitions %s after that", leaves.name, ended.Sub(asked), stays.name, len(owned), last.Sub(ended))
		if last.Sub(ended) > 2*time.Second {
			t.Errorf("the other process took %s to take over, want 2s", last.Sub(ended))
		}
		leaves, stays = stays, leaves.instance.start()
		stays.ready(30 * time.Second)
	}
	f.check(c, l.finish(time.Minute), 0)

	// Without load: a restarted process has nothing to read but its own barriers.
	stays.signal(syscall.SIGTERM)
	code := stays.exit(10 * time.Second)
	leaves.signal(syscall.SIGTERM)
	if other := leaves.exit(10 * time.Second); code != 0 || other != 0 {
		t.Errorf("exit codes %d and %d", code, other)
	}
	again := leaves.instance.start()
	_, ops := again.ready(30 * time.Second)
	again.signal(syscall.SIGTERM)
	_ = ops
	if code := again.exit(10 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestZombie suspends a process until the group and the transaction coordinator have given it up
// and another process owns its partitions. When the process resumes in the middle of its work, it
// must not write, and it must rejoin the group.
func TestZombie(t *testing.T) {
	c := shared(t)
	f := follow(c)
	timeouts := "processor: {session_timeout: 6s, transaction_timeout: 7s}"
	a, b := newInstance(c, "a", timeouts).start(), newInstance(c, "b", timeouts).start()
	addr, _ := a.ready(30 * time.Second)
	b.ready(30 * time.Second)
	l := startLoad(c, 4, 20_000, 200_000)
	within(t, 30*time.Second, "both fold", func(context.Context) error {
		if len(f.owned(a.name)) < 4 || len(f.owned(b.name)) < 4 {
			return errors.New("the partitions are not shared yet")
		}
		return nil
	})
	pass(t, time.Second)
	owned, stopped := f.owned(a.name), time.Now()
	a.signal(syscall.SIGSTOP)
	last := f.servedBy(b.name, owned, stopped, time.Minute)
	if since := last.Sub(stopped); since < 5*time.Second {
		t.Errorf("taken over after %s: before the session timeout", since)
	}
	t.Logf("%d partitions served by the other process %s after SIGSTOP", len(owned), last.Sub(stopped))
	pass(t, time.Second)

	before, resumed := len(a.output()), time.Now()
	a.signal(syscall.SIGCONT)
	within(t, time.Minute, "the zombie rejoins", func(ctx context.Context) error {
		a.alive()
		n, err := a.running(ctx, addr)
		if err == nil && (n == 0 || len(f.takeovers(a.name, resumed)) == 0) {
			err = errors.New("it has no new record")
		}
		return err
	})
	if text := a.output()[before:]; !strings.Contains(text, "session_rebuilt") && !strings.Contains(text, "transaction_aborted") {
		t.Errorf("the log lacks the loss of its work:\n%s", text)
	}
	t.Logf("new records %s after SIGCONT", f.takeovers(a.name, resumed)[0].appliedAt.Sub(resumed))
	f.check(c, l.finish(time.Minute), 0)
	a.alive()
	b.alive()
}
