package integration

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// TestStandby runs three processes that are standbys of each other, under load. One is killed with
// -9 and not restarted: its partitions have to continue in other processes. Then each of the others
// is restarted, as in the rollout of a new version. The test logs how long partitions were away;
// the tests of the runtime in virtual time have limits for that.
func TestStandby(t *testing.T) {
	c := alone(t)
	_, seed := seeded(t)
	f := follow(c)
	setting := "processor: {standbys: 1}"
	var lives []*process
	for _, name := range []string{"a", "b", "c"} {
		lives = append(lives, newInstance(c, name, setting).start())
	}
	for _, p := range lives {
		p.ready()
	}
	l := startLoad(c, seed, 10_000, 150_000)
	even := func(context.Context) error {
		for _, p := range lives {
			if n := len(f.owned(p.name)); n != 24/len(lives) {
				return fmt.Errorf("%s has %d partitions", p.name, n)
			}
		}
		return nil
	}
	testlimit.Within(t, "the partitions are even", even)
	f.settled(c, lives...)
	pass(t, 3*time.Second) // the standbys follow, and the log has records

	victim := lives[2]
	d := death{instance: victim.name, at: time.Now(), owned: f.owned(victim.name)}
	victim.kill()
	lives = lives[:2]
	testlimit.Within(t, "its partitions continue", d.over(f))
	took, _ := f.recovered(d)
	t.Logf("kill -9 without a restart: %d partitions continue after %s", len(d.owned), took.Round(time.Millisecond))
	testlimit.Within(t, "two share evenly", even)
	for i, p := range lives {
		r := death{instance: p.name, at: time.Now(), owned: f.owned(p.name)}
		p.signal(syscall.SIGTERM)
		if code := p.exit(); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", p.name, code, p.output())
		}
		testlimit.Within(t, "the other process continues", r.over(f))
		took, _ := f.recovered(r)
		t.Logf("%s is restarted: its %d partitions continue after %s", p.name, len(r.owned), took.Round(time.Millisecond))
		lives[i] = p.instance.start()
		lives[i].ready()
		testlimit.Within(t, "two share evenly again", even)
	}
	ledger := l.finish()
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
