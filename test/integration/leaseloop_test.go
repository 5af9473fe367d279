package integration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/lease/status"
)

const term = syscall.SIGTERM

// TestLeaseLoop runs users in three hostile regions and two processes with all roles of the loop,
// one of which is killed every few seconds. WEIR_TEST_LEASE_LOOP=2m is a longer run.
func TestLeaseLoop(t *testing.T) {
	w := newLeaseCluster(t, "eu-west-1", "us-east-1", "us-west-2")
	rng, seed := seeded(t)
	length := 20 * time.Second
	if text := os.Getenv("WEIR_TEST_LEASE_LOOP"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("WEIR_TEST_LEASE_LOOP: %v", err)
		}
	}
	procs := []*process{w.a.start(), w.b.start()}
	for _, p := range procs {
		p.ready()
	}
	u := w.use(seed, true)
	began, n := time.Now(), 0
	for ; time.Since(began) < length; n++ {
		pass(t, time.Duration(2000+rng.IntN(2500))*time.Millisecond)
		procs[n%2].alive()
		procs[n%2].kill()
		procs[n%2] = procs[n%2].instance.start()
	}
	u.stop()
	u.check(t)
	var live int
	testlimit.Within(t, "each key has one lease", func(ctx context.Context) (err error) {
		live, err = w.single(ctx, u.doubled())
		return err
	})
	o := w.quiet()
	if err := stopAll(procs...); err != nil {
		t.Error(err)
	}
	t.Logf("%d kills; %d keys with duplicates still had one lease; expired to liberated: %s; duplicate to one winner: %s", n, live,
		slowest(o.delays(func(*eventspb.LeaseResult) bool { return true })), slowest(u.resolved()))
	if o.count("transfer") == 0 || o.count("liberate") == 0 || o.count("supersede") == 0 || len(u.resolved()) == 0 {
		t.Error("the run proves nothing: it had no transfer, no liberation or no duplicate")
	}
}

// TestLeaseRegionDown makes a region unreachable for a time. The others continue. Commands for the
// region wait and are carried out when it returns.
func TestLeaseRegionDown(t *testing.T) {
	w := newLeaseCluster(t, "eu-west-1", "us-east-1", "us-west-2")
	_, seed := seeded(t)
	procs := []*process{w.a.start(), w.b.start()}
	for _, p := range procs {
		p.ready()
	}
	u := w.use(seed, false)
	testlimit.Within(t, "the bridge reads each region", func(ctx context.Context) error {
		log, err := readLeaseLog(ctx, w.kafka)
		if err != nil {
			return err
		}
		return log.heard(w.regions)
	})
	pass(t, 3*time.Second)
	const dead = "us-west-2"
	w.cut(dead, true)
	late := time.Now().Add(5 * time.Second) // requests in progress have ended
	var waiting map[string]status.Waiting
	testlimit.Within(t, "commands wait for the region, and the other regions continue", func(ctx context.Context) (err error) {
		if waiting, err = w.waiting(ctx, math.MaxInt64); err != nil {
			return err
		}
		if x := waiting[dead]; x.Commands == 0 || x.Oldest < 5*time.Second {
			return fmt.Errorf("%d commands wait for %s, the oldest for %s: its leases have ended in the meantime", x.Commands, dead, x.Oldest)
		}
		return w.proceeds(ctx, u, dead, late)
	})
	w.cut(dead, false)
	back := time.Now()
	testlimit.Within(t, "its users lease again", func(context.Context) error {
		if u.grants(dead, back, time.Now()) == 0 {
			return errors.New("no new lease")
		}
		return nil
	})
	u.stop()
	u.check(t)
	o := w.quiet()
	if err := stopAll(procs...); err != nil {
		t.Error(err)
	}
	last, n := o.settled(dead, back)
	t.Logf("%s returned: of %d waiting commands, the oldest for %s, the last was carried out after %s", dead, n,
		waiting[dead].Oldest.Round(time.Millisecond), last.Sub(back).Round(time.Millisecond))
	for _, region := range w.regions {
		n, freed := u.grants(region, late, back), o.liberated(region, late, back)
		t.Logf("%s while %s was down: %d new leases; expired to liberated: %s", region, dead, n, slowest(freed))
		if (n == 0 || len(freed) == 0) != (region == dead) {
			t.Errorf("%s had %d new leases and liberated %d while %s was down", region, n, len(freed), dead)
		}
	}
}

// proceeds returns an error unless each region but one has new leases and liberations since a time.
func (w *leaseCluster) proceeds(ctx context.Context, u *leaseUsers, except string, since time.Time) error {
	o, err := readOutcomes(ctx, w.kafka, w.regions)
	if err != nil {
		return err
	}
	for _, region := range w.regions {
		n, freed := u.grants(region, since, time.Now()), o.liberated(region, since, time.Now())
		if region != except && (n == 0 || len(freed) == 0) {
			return fmt.Errorf("%s has %d new leases and liberated %d since %s", region, n, len(freed), since)
		}
	}
	return nil
}
