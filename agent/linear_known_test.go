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

// Regression tests for violations that TestLinearizable found, each with a shortest history.

// doomed is an agent that can send a number of requests, and receives the answer to the last one or
// not.
func (w *fixture) doomed(requests int32, answered bool) *Agent {
	w.t.Helper()
	d := &mortal{answered: answered}
	d.left.Store(requests)
	return w.agent("eu", quick, func(c *Config) {
		c.Client = func(region string) *dynamodb.Client { return w.cloud.Region(region).Client(d.options) }
	})
}

// pass waits.
func pass(ctx context.Context, t testing.TB, d time.Duration) {
	t.Helper()
	if err := sleepUntil(ctx, time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
}

// A holder releases its lease, but the lease has ended and the key has another resource since.
func TestLateReleaseIsOfItsOwnLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		late, b := w.agent("eu", quick), w.agent("eu", quick)
		first := get(ctx, t, late, "k", 500*time.Millisecond)
		late.running.Wait() // the key row is settled, and the holder's Lease is not
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
		third, err := b.Renew(ctx, third, time.Now().Add(2*time.Minute)) // makes its versions differ from those of the first lease
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

// After ErrReleased, the next GetLease does not return the released lease.
func TestReleasedIsNotGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		a := w.agent("eu", quick)
		first := get(ctx, t, a, "k", time.Minute)
		a.running.Wait()
		dying := w.doomed(4, true) // settings (2 requests), key row, resource row: not the second key row
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

// A renewal that stopped between its two writes can be repeated with a later end, as the example of
// Watch does.
func TestRenewAgainAfterHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 3)
		ctx := t.Context()
		dying := w.doomed(4, true) // settings (2 requests), key row, resource row: not the second key row
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
