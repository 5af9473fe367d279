package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/internal/testlimit"
)

// leaseUsers lease resources in all regions and record what they may use.
type leaseUsers struct {
	agents map[string]*agent.Agent
	seed   uint64
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	uses   map[string][]use // by resource
	counts map[string]int   // number of calls by outcome
	got    []grant
	twins  []twin
	wrong  []error
}

// use is the right of a user: a resource for a key, by the user's clock.
type use struct {
	key, region string
	from, until time.Time
}

// grant is a new lease.
type grant struct {
	region string
	at     time.Time
}

// twin is a key that two regions leased at once.
type twin struct {
	pool, key string

	took time.Duration // time until both regions returned one resource; 0 if they did not within twinLimit
}

const usersOfRegion = 8

// use starts users in all regions. With twins, two regions lease the same keys at once.
func (w *leaseCluster) use(seed uint64, twins bool) *leaseUsers {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	u := &leaseUsers{agents: map[string]*agent.Agent{}, seed: seed, cancel: cancel, uses: map[string][]use{}, counts: map[string]int{}}
	w.t.Cleanup(u.stop)
	for _, r := range w.regions {
		u.agents[r] = w.agent(r)
	}
	for i, r := range w.regions {
		for n := range usersOfRegion {
			rng := rand.New(rand.NewPCG(seed, uint64(100*i+n)))
			u.wg.Go(func() { u.live(ctx, r, fmt.Sprintf("%s-%d", r, n), rng) })
		}
	}
	if twins {
		u.wg.Go(func() { u.pair(ctx, w.regions) })
	}
	return u
}

// stop stops the users and waits for them.
func (u *leaseUsers) stop() {
	u.cancel()
	u.wg.Wait()
}

// live leases one key after another, and releases leases, renews them or lets them end.
func (u *leaseUsers) live(ctx context.Context, region, name string, rng *rand.Rand) {
	between := func(least, most int) time.Duration {
		return time.Duration(least+rng.IntN(most-least)) * time.Millisecond
	}
	for n := 0; rest(ctx, between(100, 800)); n++ {
		pool := [...]string{widePool, plentyPool, scarcePool}[rng.IntN(3)]
		a, key := u.agents[region], fmt.Sprintf("%s-%d", name, n%5)
		l, err := a.GetLease(ctx, leaseClient, pool, key, time.Now().Add(between(1500, 4000)))
		if !u.did(ctx, "got", l, err) {
			continue
		}
		switch rng.IntN(3) {
		case 0:
			rest(ctx, between(100, 1000))
			u.did(ctx, "released", agent.Lease{}, a.Release(ctx, l))
		case 1:
			rest(ctx, between(100, 1000))
			l, err := a.Renew(ctx, l, time.Now().Add(between(1500, 4000)))
			u.did(ctx, "renewed", l, err)
		default:
			u.did(ctx, "left", agent.Lease{}, nil)
		}
	}
}

// did records the outcome of a call. l is the lease that the caller may use from now on, if it has
// a resource.
func (u *leaseUsers) did(ctx context.Context, what string, l agent.Lease, err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for _, e := range []error{
		agent.ErrExhausted, agent.ErrThrottled, agent.ErrUnavailable, agent.ErrReleased, agent.ErrEnded, agent.ErrSuperseded, agent.ErrStale,
	} {
		if errors.Is(err, e) {
			u.counts["not "+what+": "+e.Error()]++
			return false
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			u.wrong = append(u.wrong, fmt.Errorf("%s: %w", what, err))
		}
		return false
	}
	u.counts[what]++
	if l.Resource == "" {
		return true
	}
	if l.New {
		u.got = append(u.got, grant{l.Region, now})
	}
	if l.Valid(now) {
		u.uses[l.Resource] = append(u.uses[l.Resource], use{l.Pool + "/" + l.Key, l.Region, now, l.Deadline})
	}
	return true
}

const (
	twinLease = 10 * time.Second
	twinEvery = 700 * time.Millisecond
	twinLimit = testlimit.Limit // for two regions to agree: a killed process is replaced several times
)

// pair repeatedly makes two regions lease one key at once, and requests the lease until both return
// the same.
func (u *leaseUsers) pair(ctx context.Context, regions []string) {
	var g sync.WaitGroup
	defer g.Wait()
	for n := 0; rest(ctx, twinEvery); n++ {
		two := [2]string{regions[n%len(regions)], regions[(n+1)%len(regions)]}
		t := twin{pool: [...]string{widePool, plentyPool}[n%2], key: fmt.Sprintf("twin-%d", n)}
		// It continues after the last user, until they agree.
		g.Go(func() { u.twin(context.WithoutCancel(ctx), t, two) })
	}
}

// twin leases a key in two regions, and requests it until both return one lease. Leases that would
// end before that are renewed: a duplicate must be superseded, not end.
func (u *leaseUsers) twin(ctx context.Context, t twin, regions [2]string) {
	ctx, cancel := context.WithTimeout(ctx, twinLimit+twinLease)
	defer cancel()
	both := func(call func(i int) (agent.Lease, error)) (leases [2]agent.Lease, ok bool) {
		var errs [2]error
		var g sync.WaitGroup
		for i := range regions {
			g.Go(func() { leases[i], errs[i] = call(i) })
		}
		g.Wait()
		ok = true
		for i := range regions {
			ok = u.did(ctx, "twin", leases[i], errs[i]) && ok
		}
		return leases, ok
	}
	end := time.Now().Add(twinLease)
	ask := func() (leases [2]agent.Lease, same, ok bool) {
		leases, ok = both(func(i int) (agent.Lease, error) {
			return u.agents[regions[i]].GetLease(ctx, leaseClient, t.pool, t.key, end)
		})
		return leases, leases[0].Resource == leases[1].Resource, ok
	}
	leases, same, ok := ask()
	if same || !ok {
		return
	}
	began := time.Now()
	for t.took == 0 && time.Since(began) < twinLimit && rest(ctx, 100*time.Millisecond) {
		if ok && time.Until(end) < 3*time.Second {
			end = time.Now().Add(twinLease)
			both(func(i int) (agent.Lease, error) { return u.agents[regions[i]].Renew(ctx, leases[i], end) })
		}
		if leases, same, ok = ask(); same && ok {
			t.took = time.Since(began)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.twins = append(u.twins, t)
}

// check reports what users have seen that must not happen.
func (u *leaseUsers) check(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, err := range u.wrong {
		t.Errorf("a user: %v", err)
	}
	if wrong := u.overlaps(); len(wrong) > 0 {
		t.Errorf("two keys used one resource %d times:\n%s", len(wrong), strings.Join(wrong[:min(20, len(wrong))], "\n"))
	}
	open := 0
	for _, x := range u.twins {
		if x.took == 0 {
			open++
			t.Errorf("key %s still had two leases %s after it got them", x.key, twinLimit)
		}
	}
	t.Logf("users: %v; %d duplicates, %d not resolved", u.counts, len(u.twins), open)
}

// overlaps returns the uses of one resource by two keys at one time. The mutex is held.
func (u *leaseUsers) overlaps() (wrong []string) {
	for resource, uses := range u.uses {
		slices.SortFunc(uses, func(a, b use) int { return a.from.Compare(b.from) })
		var last use // earlier use that ends last
		for _, x := range uses {
			if last.key != "" && x.key != last.key && x.from.Before(last.until) {
				wrong = append(wrong, fmt.Sprintf("%s by %s in %s from %s on, and by %s in %s until %s", resource, x.key, x.region,
					x.from.Format(time.StampMilli), last.key, last.region, last.until.Format(time.StampMilli)))
			}
			if x.until.After(last.until) {
				last = x
			}
		}
	}
	return wrong
}

// doubled returns the keys that two regions leased at once.
func (u *leaseUsers) doubled() []twin {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.twins)
}

// resolved returns the times until two regions agreed on one lease.
func (u *leaseUsers) resolved() (all []time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.twins {
		if x.took > 0 {
			all = append(all, x.took)
		}
	}
	return all
}

// grants returns the number of new leases of a region in a period.
func (u *leaseUsers) grants(region string, from, to time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, g := range u.got {
		if g.region == region && g.at.After(from) && g.at.Before(to) {
			n++
		}
	}
	return n
}

// rest waits for d. It returns false if ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
