package integration

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestStandby runs three processes that are standbys of each other, under load. One is killed with
// -9 and not restarted: its partitions have to continue in other processes within 8 s, the session
// timeout of 6 s included. Then each of the others is restarted, as in the rollout of a new
// version: no partition may be away for longer than a takeover.
func TestStandby(t *testing.T) {
	c := shared(t)
	_, seed := seeded(t)
	f := follow(c)
	setting := "processor: {standbys: 1}"
	var lives []*process
	for _, name := range []string{"a", "b", "c"} {
		lives = append(lives, newInstance(c, name, setting).start())
	}
	for _, p := range lives {
		p.ready(60 * time.Second)
	}
	l := startLoad(c, seed, 20_000, 300_000)
	even := func(context.Context) error {
		for _, p := range lives {
			if n := len(f.owned(p.name)); n != 24/len(lives) {
				return fmt.Errorf("%s has %d partitions", p.name, n)
			}
		}
		return nil
	}
	within(t, time.Minute, "the partitions are even", even)
	pass(t, 3*time.Second) // the standbys follow, and the log has records

	victim := lives[2]
	d := death{victim.name, time.Now(), f.owned(victim.name)}
	victim.kill()
	lives = lives[:2]
	within(t, 30*time.Second, "its partitions continue", d.over(f))
	took, _ := f.recovered(d)
	t.Logf("kill -9 without a restart: %d partitions continue after %s", len(d.owned), took.Round(time.Millisecond))
	if took > 12*time.Second { // the goal is 8; a loaded machine is not to fail the test, and without adoption it is 20 and more
		t.Errorf("%s until the last partition went on: want 8 s or little more, session time-out included", took)
	}
	within(t, time.Minute, "two share evenly", even)
	for i, p := range lives {
		r := death{p.name, time.Now(), f.owned(p.name)}
		p.signal(syscall.SIGTERM)
		if code := p.exit(20 * time.Second); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", p.name, code, p.output())
		}
		within(t, 30*time.Second, "the other process continues", r.over(f))
		took, _ := f.recovered(r)
		t.Logf("%s is restarted: its %d partitions continue after %s", p.name, len(r.owned), took.Round(time.Millisecond))
		if took > 4*time.Second {
			t.Errorf("%s until the last partition of a stopped process continued", took)
		}
		lives[i] = p.instance.start()
		lives[i].ready(30 * time.Second)
		within(t, time.Minute, "two share evenly again", even)
	}
	ledger := l.finish(3 * time.Minute)
	f.check(c, ledger, 0)
}

// over returns a condition: every partition of d has a new record.
func (d death) over(f *follower) func(context.Context) error {
	return func(context.Context) error {
		if _, ok := f.recovered(d); !ok {
			return errors.New("not every partition has a new record")
		}
		return nil
	}
}
