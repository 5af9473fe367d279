//go:build synctests

package leaseloop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/agent"
)

// use is a resource in use: from the return of the call until the deadline or the release.
type use struct {
	resource, key, region string
	token                 int64
	from, to              time.Time
}

// users lease, renew and release keys in all regions.
type users struct {
	l        *loop
	agents   map[string]*agent.Agent
	rate     func(region string, at time.Duration) float64 // new keys per second
	shortest time.Duration                                 // shortest lease
	longest  time.Duration
	begun    time.Time
	all      sync.WaitGroup
	here     context.Context // ends with leave
	leave    func()          // ends all uses without a release

	mu       sync.Mutex
	uses     []use
	asked    int
	refused  []time.Time
	failed   map[string]int // calls with an unknown outcome, by error
	renewed  int
	released int
	twins    int // keys that were requested in two regions at once
}

func (l *loop) users(rate func(string, time.Duration) float64, shortest, longest time.Duration) *users {
	u := &users{l: l, agents: map[string]*agent.Agent{}, rate: rate, shortest: shortest, longest: longest, begun: time.Now(), failed: map[string]int{}}
	u.here, u.leave = context.WithCancel(context.Background())
	for _, r := range loopRegions() {
		u.agents[r] = l.agent(r, nil)
	}
	return u
}

// run requests new keys in every region until ctx ends.
func (u *users) run(ctx context.Context) {
	for i, region := range loopRegions() {
		rng := rand.New(rand.NewPCG(u.l.setup.seed, uint64(i)))
		u.all.Go(func() {
			for n := 0; ; n++ {
				for left := rng.ExpFloat64(); left > 0; { // the rate may change before the next key
					rate := u.rate(region, time.Since(u.begun))
					gap := min(0.25, left/rate)
					if !wait(ctx, time.Duration(gap*float64(time.Second))+1) {
						return
					}
					left -= gap * rate
				}
				key, seed := fmt.Sprintf("%s-%d", region, n), rng.Uint64()
				u.all.Go(func() { u.live(region, key, rand.New(rand.NewPCG(seed, 0))) })
			}
		})
	}
}

// twin requests one key in two regions at once.
func (u *users) twin(a, b string, rng *rand.Rand) {
	u.mu.Lock()
	u.twins++
	key := fmt.Sprintf("twin-%d", u.twins)
	u.mu.Unlock()
	for _, region := range []string{a, b} {
		seed := rng.Uint64()
		u.all.Go(func() { u.live(region, key, rand.New(rand.NewPCG(seed, 0))) })
	}
}

// close waits until all uses have ended, and closes the agents.
func (u *users) close() {
	u.all.Wait()
	u.leave()
	for _, a := range u.agents {
		a.Close()
	}
}

// live is the life of a key: its user leases it, may renew it, may release it, and otherwise uses
// the resource until the deadline.
func (u *users) live(region, key string, rng *rand.Rand) {
	ctx, a := u.here, u.agents[region]
	length := func() time.Duration { return u.shortest + time.Duration(rng.Int64N(int64(u.longest-u.shortest))) }
	held, ok := u.get(ctx, a, region, key, length())
	if !ok {
		return
	}
	i := u.begin(region, &held)
	fate := rng.IntN(10)
	if fate < 2 && wait(ctx, time.Until(held.Deadline)*8/10) { // renew before the deadline
		if longer, err := a.Renew(ctx, held, time.Now().Add(length())); err == nil {
			held = longer
			u.change(i, func(x *use) { x.to, u.renewed = held.Deadline, u.renewed+1 })
		}
	}
	if fate > 0 && fate < 4 && wait(ctx, time.Until(held.Deadline)/2) { // release early
		now := time.Now()
		if err := a.Release(ctx, held); err == nil {
			u.change(i, func(x *use) { x.to, u.released = now, u.released+1 })
		}
	}
	wait(ctx, time.Until(held.Deadline))
}

// get leases a key and repeats calls with an unknown outcome.
func (u *users) get(ctx context.Context, a *agent.Agent, region, key string, length time.Duration) (agent.Lease, bool) {
	u.mu.Lock()
	u.asked++
	u.mu.Unlock()
	for range 10 {
		held, err := a.GetLease(ctx, loopClient, loopPool, key, time.Now().Add(length))
		if err == nil {
			return held, true
		}
		u.mu.Lock()
		if errors.Is(err, agent.ErrExhausted) {
			u.refused = append(u.refused, time.Now())
			u.mu.Unlock()
			return held, false
		}
		u.failed[err.Error()]++
		u.mu.Unlock()
		if !wait(ctx, 200*time.Millisecond) {
			break
		}
	}
	return agent.Lease{}, false
}

func (u *users) begin(region string, l *agent.Lease) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uses = append(u.uses, use{resource: l.Resource, key: l.Key, region: region, token: l.Token, from: time.Now(), to: l.Deadline})
	return len(u.uses) - 1
}

func (u *users) change(i int, f func(*use)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f(&u.uses[i])
}

// apart reports resources that two keys used at once.
func (u *users) apart() {
	u.l.t.Helper()
	u.l.report(overlaps(u.uses))
}

// overlaps returns the uses of one resource by two keys at one time.
func overlaps(uses []use) (wrong []string) {
	byName := map[string][]use{}
	for _, x := range uses {
		byName[x.resource] = append(byName[x.resource], x)
	}
	for _, list := range byName {
		slices.SortFunc(list, func(a, b use) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.key, b.key)) })
		for i := range list {
			for _, later := range list[i+1:] {
				if later.key != list[i].key && later.from.Before(list[i].to) {
					wrong = append(wrong, fmt.Sprintf("used for two keys at once: %+v and %+v", list[i], later))
				}
			}
		}
	}
	return wrong
}

// wave returns a rate that rises and falls, with another phase in each region.
func wave(mean float64, period time.Duration) func(string, time.Duration) float64 {
	return func(region string, at time.Duration) float64 {
		phase := float64(slices.Index(loopRegions(), region)) / float64(len(loopRegions()))
		return mean * (1 + 0.8*math.Sin(2*math.Pi*(at.Seconds()/period.Seconds()+phase)))
	}
}
