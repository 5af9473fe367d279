package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
)

// What TestLinearizable found, each as the shortest way to it.

// doomed is an agent that can send so many requests, and sees the answer to the last one or not.
func (w *fixture) doomed(requests int32, answered bool) *Agent {
	w.t.Helper()
	d := &mortal{answered: answered}
	d.left.Store(requests)
	return w.agent("eu", quick, func(c *Config) {
		c.Client = func(region string) *dynamodb.Client { return w.cloud.Region(region).Client(d.options) }
	})
}

// pass lets time go by.
func pass(ctx context.Context, t testing.TB, d time.Duration) {
	t.Helper()
	if err := sleepUntil(ctx, time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
}

// A holder gives back what it got, but its lease is over and the key has another resource meanwhile.
func TestLateReleaseIsOfItsOwnLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		late, b := w.agent("eu", quick), w.agent("eu", quick)
		first := get(ctx, t, late, "k", 500*time.Millisecond)
		late.running.Wait() // it is settled, but not in the holder's hand
		if err := b.Release(ctx, get(ctx, t, b, "k", time.Minute)); err != nil {
			t.Fatal(err)
		}
		pass(ctx, t, time.Second)
		second := get(ctx, t, b, "k", time.Minute)
		b.running.Wait()
		third := get(ctx, t, w.agent("eu", quick), "k", time.Minute)
		if second.Resource == first.Resource || third.Resource != second.Resource {
			t.Fatalf("%s, %s, %s: the first must be in quarantine, the others one", first.Resource, second.Resource, third.Resource)
		}
		third, err := b.Renew(ctx, third, time.Now().Add(2*time.Minute)) // its versions and those of the first are not the same by chance
		if err != nil {
			t.Fatal(err)
		}
		if err := late.Release(ctx, first); err != nil && !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		if err := b.Release(ctx, third); err != nil {
			t.Error(err)
		}
		again := get(ctx, t, w.agent("eu", quick), "k", time.Minute)
		if again.Resource != third.Resource {
			t.Errorf("the key has %s while others may use %s until %v from now", again.Resource, third.Resource, time.Until(third.Deadline))
		}
	})
}

// Whoever is told that a lease was given back is not given that same lease by the next get.
func TestReleasedIsNotGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		a := w.agent("eu", quick)
		first := get(ctx, t, a, "k", time.Minute)
		a.running.Wait()
		dying := w.doomed(4, true) // settings twice, key row, resource row: the key row is not told
		if err := dying.Release(ctx, get(ctx, t, dying, "k", time.Minute)); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		if _, err := a.Renew(ctx, first, time.Now().Add(2*time.Minute)); !errors.Is(err, ErrReleased) {
			t.Fatal(err)
		}
		again := get(ctx, t, a, "k", time.Minute)
		if again.Token == first.Token {
			t.Error("after ErrReleased the same lease, which can be neither renewed nor released")
		}
	})
}

// A renewal that stopped between its two writes can be tried again, as the example of Watch does: with a later end.
func TestRenewAgainAfterHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		dying := w.doomed(4, true) // settings twice, key row, resource row: the key row is not told
		a := w.agent("eu", quick)
		get(ctx, t, a, "k", time.Minute)
		a.running.Wait()
		l := get(ctx, t, dying, "k", time.Minute)
		if _, err := dying.Renew(ctx, l, time.Now().Add(2*time.Minute)); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		pass(ctx, t, time.Second)
		_, err := a.Renew(ctx, l, time.Now().Add(2*time.Minute))
		if errors.Is(err, ErrStale) { // then there is a greater token
			l = get(ctx, t, a, "k", time.Minute)
			_, err = a.Renew(ctx, l, time.Now().Add(2*time.Minute))
		}
		if err != nil {
			t.Errorf("%v; the lease ends in %v", err, time.Until(l.Expires))
		}
	})
}
