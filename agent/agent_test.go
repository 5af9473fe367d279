package agent

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/dynamotest"
)

func TestGetRenewRelease(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 3)
	var calls []Call
	var mu sync.Mutex
	a, b := w.agent("eu", func(c *Config) {
		c.Observe = func(c Call) { mu.Lock(); calls = append(calls, c); mu.Unlock() }
	}), w.agent("eu")
	ctx := t.Context()

	l := get(ctx, t, a, "k", time.Minute)
	if !l.New || l.Resource == "" || l.Region != "eu" || l.Token != 2 || !l.Valid(time.Now()) || l.Clamped {
		t.Fatalf("a new lease: %+v", l)
	}
	again := get(ctx, t, a, "k", time.Minute)
	if again.New || again.Resource != l.Resource || again.Token != l.Token {
		t.Errorf("from memory: %+v, was %+v", again, l)
	}
	other := get(ctx, t, b, "k", time.Hour)
	if other.New || other.Resource != l.Resource || !other.Expires.Equal(l.Expires) {
		t.Errorf("by another agent: %+v, was %+v", other, l)
	}
	if m := get(ctx, t, b, "m", 2*time.Hour); m.Resource == l.Resource || !m.Clamped {
		t.Errorf("another key: %+v", m)
	}
	r, err := b.Renew(ctx, other, time.Now().Add(10*time.Minute))
	if err != nil || r.Token <= l.Token || !r.Expires.After(l.Expires) || r.Resource != l.Resource {
		t.Fatalf("renewed: %+v, %v", r, err)
	}
	if _, err := a.Renew(ctx, l, time.Now().Add(20*time.Minute)); !errors.Is(err, ErrStale) {
		t.Errorf("renewed with a token that is not the last: %v", err)
	}
	if err := b.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	back := get(ctx, t, b, "k", time.Minute)
	if back.Resource != l.Resource || back.Token <= r.Token || back.Expires.Before(r.Expires) {
		t.Errorf("after release: %+v, was %+v", back, r)
	}
	if _, err := a.GetLease(ctx, "c", "p", "z", time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	_, err = a.GetLease(ctx, "c", "p", "one too many", time.Now().Add(time.Minute))
	var exhausted *ExhaustedError
	if !errors.As(err, &exhausted) || !errors.Is(err, ErrExhausted) || exhausted.RetryAfter <= 0 {
		t.Errorf("no resource left: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, c := range calls {
		t.Logf("%d: %+v", i, c)
	}
}

func TestGetRefuses(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 1)
	a := w.agent("eu")
	long := make([]byte, 2000)
	for i := range long {
		long[i] = 'x'
	}
	soon := time.Now().Add(time.Minute)
	for _, c := range []struct {
		name              string
		client, pool, key string
		expires           time.Time
		want              error
	}{
		{"no client", "", "p", "k", soon, ErrInvalid},
		{"no pool", "c", "", "k", soon, ErrInvalid},
		{"no key", "c", "p", "", soon, ErrInvalid},
		{"long key", "c", "p", string(long), soon, ErrInvalid},
		{"not UTF-8", "c", "p", "\xff", soon, ErrInvalid},
		{"control", "c", "p", "a\nb", soon, ErrInvalid},
		{"past", "c", "p", "k", time.Now().Add(-time.Second), ErrInvalid},
		{"unknown client", "d", "p", "k", soon, ErrUnknown},
		{"unknown pool", "c", "q", "k", soon, ErrUnknown},
	} {
		if _, err := a.GetLease(t.Context(), c.client, c.pool, c.key, c.expires); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// Many agents ask for the same keys concurrently: no key gets two resources, no resource two keys.
func TestStampede(t *testing.T) {
	w := newFixture(t, dynamotest.Hostile(), "eu")
	w.register("eu", 40)
	const agents, keys = 20, 30
	type got struct{ key, resource string }
	results := make(chan got, agents*keys)
	var wg sync.WaitGroup
	for range agents {
		a := w.agent("eu")
		wg.Go(func() {
			for i := range keys {
				key := fmt.Sprint("k", i)
				for {
					l, err := a.GetLease(t.Context(), "c", "p", key, time.Now().Add(time.Minute))
					if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrThrottled) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					results <- got{key, l.Resource}
					break
				}
			}
		})
	}
	wg.Wait()
	close(results)
	byKey, byResource := map[string]string{}, map[string]string{}
	for r := range results {
		if had, ok := byKey[r.key]; ok && had != r.resource {
			t.Errorf("key %s has %s and %s", r.key, had, r.resource)
		}
		if had, ok := byResource[r.resource]; ok && had != r.key {
			t.Errorf("%s is leased to %s and %s", r.resource, had, r.key)
		}
		byKey[r.key], byResource[r.resource] = r.resource, r.key
	}
	if len(byKey) != keys {
		t.Errorf("%d keys of %d", len(byKey), keys)
	}
}

// Many concurrent callers find no candidate in memory. Each gets one, and none is refused.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the timeout of a request must not depend on the machine
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 300)
		a := w.agent("eu")
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				if _, err := a.GetLease(t.Context(), "c", "p", fmt.Sprint("k", i), time.Now().Add(time.Minute)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// Callers that are refused repeatedly do not read all buckets each time.
func TestExhaustedAgain(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	var calls []Call
	a := w.agent("eu", func(c *Config) { c.Observe = func(c Call) { calls = append(calls, c) } })
	for i := range 3 {
		if _, err := a.GetLease(t.Context(), "c", "p", fmt.Sprint("k", i), time.Now().Add(time.Minute)); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
	}
	if calls[0].RoundTrips != 2+1+4 || calls[1].RoundTrips != 1 || calls[2].RoundTrips != 1 {
		t.Errorf("%d, %d, %d round trips, want 7 (settings, key, four buckets), 1, 1", calls[0].RoundTrips, calls[1].RoundTrips, calls[2].RoundTrips)
	}
}

// Two regions leased one key at once. An agent in a third region uses the lease that dedup will
// keep: the one granted first, whatever the names of the regions. So its user does not have to
// switch.
func TestThirdRegionTakesTheWinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "ap", "eu", "us")
		for _, region := range []string{"ap", "us"} {
			w.register(region, 1)
		}
		for _, way := range [][2]string{{"ap", "us"}, {"us", "ap"}} {
			if err := w.cloud.Cut(way[0], way[1], true); err != nil {
				t.Fatal(err)
			}
		}
		first := get(t.Context(), t, w.agent("us"), "key", time.Minute)
		pass(t.Context(), t, time.Second)
		second := get(t.Context(), t, w.agent("ap"), "key", time.Minute)
		w.cloud.Settle()
		if got := get(t.Context(), t, w.agent("eu"), "key", time.Minute); first.Resource == second.Resource || got.Resource != first.Resource {
			t.Errorf("leased %s first, then %s in the other region; the third region uses %s", first.Resource, second.Resource, got.Resource)
		}
	})
}

// A key has one resource among the leases of one region. A user in another region shares such a
// lease until a client releases it: then the next call there begins a lease of its own region,
// while the first user still has the deadline of the released one. The released resource goes to
// no other key before that deadline.
func TestReleaseEndsALeaseForUsersInOtherRegions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu", "us")
		w.register("eu", 1)
		w.register("us", 1)
		ctx := t.Context()
		us, user, caller := w.agent("us"), w.agent("eu"), w.agent("us")
		owned := get(ctx, t, us, "k", time.Minute)
		us.running.Wait()
		w.cloud.Settle()
		shared := get(ctx, t, user, "k", time.Minute)
		if shared.Resource != owned.Resource || shared.Region != "us" {
			t.Fatalf("a user in eu has %+v, want the lease of us, %+v", shared, owned)
		}
		if err := caller.Release(ctx, get(ctx, t, caller, "k", time.Minute)); err != nil {
			t.Fatal(err)
		}
		w.cloud.Settle()
		eu := w.agent("eu")
		later := get(ctx, t, eu, "k", time.Minute)
		eu.running.Wait() // until the lease is settled, other regions see none
		if !later.New || later.Region != "eu" || later.Resource == shared.Resource || !shared.Valid(time.Now()) {
			t.Errorf("after the release eu has %+v, want a lease of its own before the deadline of %+v", later, shared)
		}
		if l, err := w.agent("us").GetLease(ctx, "c", "p", "other", time.Now().Add(time.Minute)); !errors.Is(err, ErrExhausted) {
			t.Errorf("another key has %+v, %v before the deadline of the released lease, want %v", l, err, ErrExhausted)
		}
		w.cloud.Settle()
		if again := get(ctx, t, w.agent("us"), "k", time.Minute); again.Resource != later.Resource {
			t.Errorf("in us the key has %s after replication, want the lease of eu, %s", again.Resource, later.Resource)
		}
	})
}
