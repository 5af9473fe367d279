package integration

import (
	"context"
	"errors"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

const term = syscall.SIGTERM

// TestLeaseLoop has users in three hostile regions and two processes with all roles of the loop, one of which is killed every few
// seconds. LEASE_LOOP=2m has it go on for longer.
func TestLeaseLoop(t *testing.T) {
	w := newLeaseCluster(t, "eu-west-1", "us-east-1", "us-west-2")
	rng, seed := seeded(t)
	length := 20 * time.Second
	if text := os.Getenv("LEASE_LOOP"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("LEASE_LOOP: %v", err)
		}
	}
	lives := []*process{w.a.start(), w.b.start()}
	for _, p := range lives {
		p.ready(60 * time.Second)
	}
	u := w.use(seed, true)
	began, n := time.Now(), 0
	for ; time.Since(began) < length; n++ {
		pass(t, time.Duration(2000+rng.IntN(2500))*time.Millisecond)
		lives[n%2].alive()
		lives[n%2].kill()
		lives[n%2] = lives[n%2].instance.start()
	}
	u.stop()
	u.judge(t)
	var live int
	within(t, 10*time.Second, "each key has one lease", func(ctx context.Context) (err error) {
		live, err = w.single(ctx, u.doubled())
		return err
	})
	o := w.quiet(longestLease + leaseQuarantine + 20*time.Second)
	if err := stopAll(lives...); err != nil {
		t.Error(err)
	}
	t.Logf("%d kills; %d doubled keys still had a lease after it, each one; expired to given back: %s; duplicate to one winner: %s", n, live,
		slowest(o.delays(func(*eventspb.LeaseResult) bool { return true })), slowest(u.resolved()))
	if o.count("transfer") == 0 || o.count("liberate") == 0 || o.count("supersede") == 0 || len(u.resolved()) == 0 {
		t.Error("this run was empty: without a transfer, a liberation and a duplicate it shows nothing")
	}
}

// TestLeaseRegionDown takes a region away for a while. The others go on; what is to be done there waits, and is done when
// it is back.
func TestLeaseRegionDown(t *testing.T) {
	w := newLeaseCluster(t, "eu-west-1", "us-east-1", "us-west-2")
	_, seed := seeded(t)
	lives := []*process{w.a.start(), w.b.start()}
	for _, p := range lives {
		p.ready(60 * time.Second)
	}
	u := w.use(seed, false)
	pass(t, 4*time.Second)
	const dead = "us-west-2"
	w.cut(dead, true)
	down := time.Now()
	pass(t, 15*time.Second)
	waiting, err := w.waiting(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	w.cut(dead, false)
	back := time.Now()
	if x := waiting[dead]; x.Commands == 0 || x.Oldest < 5*time.Second {
		t.Errorf("%d commands wait for %s, the oldest for %s: its leases ended meanwhile", x.Commands, dead, x.Oldest)
	}
	within(t, 30*time.Second, "its users lease again", func(context.Context) error {
		if u.grants(dead, back, time.Now()) == 0 {
			return errors.New("they do not")
		}
		return nil
	})
	u.stop()
	u.judge(t)
	o := w.quiet(longestLease + leaseQuarantine + 20*time.Second)
	if err := stopAll(lives...); err != nil {
		t.Error(err)
	}
	last, n := o.settled(dead, back)
	t.Logf("%s was back: of %d commands that waited, the oldest for %s, the last was done after %s", dead, n,
		waiting[dead].Oldest.Round(time.Millisecond), last.Sub(back).Round(time.Millisecond))
	late := down.Add(5 * time.Second) // what was under way is over
	for _, region := range w.regions {
		n := u.grants(region, late, back)
		freed := o.delays(func(r *eventspb.LeaseResult) bool {
			at := time.UnixMilli(r.DoneMs)
			return r.Region == region && at.After(late) && at.Before(back)
		})
		t.Logf("%s while %s was down: %d new leases; expired to given back: %s", region, dead, n, slowest(freed))
		if (n == 0 || len(freed) == 0) != (region == dead) {
			t.Errorf("%s had %d new leases and gave %d back while %s was down", region, n, len(freed), dead)
		}
	}
}
