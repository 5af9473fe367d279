//go:build synctests

package client

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// paced returns parameters of a campaign or arm with a budget.
func paced(id string, probability float64, arms ...*weirpb.CampaignParameters) *weirpb.CampaignParameters {
	return &weirpb.CampaignParameters{
		Id: id, Open: true, Probability: probability, Multiplier: 0.5, Reason: "behind_plan", Arms: arms,
	}
}

// lasting sets for how long a budget lasts.
func lasting(m *weirpb.CampaignParameters, d time.Duration) *weirpb.CampaignParameters {
	m.LastsMs = new(d.Milliseconds())
	return m
}

// pace sets the pacing of account a at a server, as of now.
func (x *fixture) pace(host string, list ...*weirpb.CampaignParameters) {
	x.set(host, func(s *server) { s.pacing, s.tick = list, time.Now() })
}

func (x *fixture) decide(campaign, arm, request string) Decision {
	x.Helper()
	return x.Decide(x.Context(), Ad{Account: "a", Campaign: campaign, Arm: arm, Request: request})
}

// reasonOf checks whether the gate of a campaign is open, and why.
func (x *fixture) reasonOf(campaign string, open bool, reason string) {
	x.Helper()
	p, err := x.Pacing(x.Context(), "a")
	if err != nil {
		x.Fatal(err)
	}
	if got := p.Campaign(campaign); got.Open != open || got.Reason != reason {
		x.Errorf("campaign %s: open %v, %s after %v; want %v, %s", campaign, got.Open, got.Reason, p.Age(), open, reason)
	}
}

// TestDecide: a campaign takes part by its gate and its coin, and each arm by its own. A repeated
// request gets the same decision.
func TestDecide(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		shut := paced("shut", 1)
		shut.Open, shut.Reason = false, "budget_spent"
		x.pace("eu", paced("campaign", 0.3, paced("x", 0.1), paced("y", 0.9)), paced("plain", 0.5), shut)
		const requests = 20_000
		share := func(campaign, arm string) (share float64) {
			for n := range requests {
				request := fmt.Sprint("request-", n)
				d := x.decide(campaign, arm, request)
				if again := x.decide(campaign, arm, request); again != d {
					x.Fatalf("%+v, then %+v", d, again)
				}
				if d.Serve {
					share += 1.0 / requests
				}
			}
			return share
		}
		for _, c := range []struct {
			campaign, arm string
			want          float64
		}{{"campaign", "", 0.3}, {"campaign", "x", 0.1}, {"campaign", "y", 0.9}, {"plain", "any", 0.5}, {"shut", "", 0}} {
			if got := share(c.campaign, c.arm); math.Abs(got-c.want) > 0.015 {
				x.Errorf("%s %s takes part in %.3f of the auctions, want %v", c.campaign, c.arm, got, c.want)
			}
		}
		if d := x.decide("campaign", "y", "r"); d.Multiplier != 0.5 || d.Reason != "behind_plan" || d.Campaign != "campaign" {
			x.Errorf("%+v", d)
		}
		if got := x.asked(); len(got) != 1 {
			x.Errorf("asked %q for all decisions", got)
		}
	})
}

// TestNotPaced: what has no budget takes part in no auction, or in all, as configured. An account
// that is not known takes part in none.
func TestNotPaced(t *testing.T) {
	for _, serve := range []bool{false, true} {
		t.Run(fmt.Sprint(serve), func(t *testing.T) {
			inBubble(t, func(c *Config) { c.ServeUnpaced = serve }, func(x *fixture) {
				x.pace("eu", paced("divided", 1, paced("x", 1)), paced("plain", 1))
				want := Decision{serve, Parameters{"other", serve, 1, 1, NotPaced}}
				if d := x.decide("other", "", "r"); d != want {
					x.Errorf("%+v", d)
				}
				if d := x.decide("divided", "z", "r"); d.Serve != serve {
					x.Errorf("an arm without a share: %+v", d)
				}
				if d := x.decide("plain", "z", "r"); !d.Serve {
					x.Errorf("an arm of a campaign that is not divided: %+v", d)
				}
				for _, host := range []string{"eu", "us"} {
					x.set(host, func(s *server) { s.err = errors.New("connection refused") })
				}
				d := x.Decide(x.Context(), Ad{Account: "unknown", Campaign: "plain", Request: "r"})
				if d.Serve || d.Open || d.Reason != NotKnown {
					x.Errorf("an unknown account: %+v", d)
				}
			})
		})
	}
}

// TestHold: parameters that are stale are held until they are too old. All count until a budget
// would be spent. New parameters count at once.
func TestHold(t *testing.T) {
	inBubble(t, func(c *Config) { c.Endpoints = c.Endpoints[:1] }, func(x *fixture) {
		list := []*weirpb.CampaignParameters{
			paced("holds", 1), lasting(paced("late", 1), 3*time.Minute), lasting(paced("soon", 1), 2*time.Minute),
		}
		list[2].AgeMs = 50_000 // of a part that was written 50 s before the newest one
		x.pace("eu", list...)
		at := func(after time.Duration) {
			x.Helper()
			x.servers.mu.Lock()
			tick := x.by["eu"].tick
			x.servers.mu.Unlock()
			time.Sleep(after - time.Since(tick))
		}
		at(0)
		at(65 * time.Second)
		for _, c := range []string{"holds", "late", "soon"} {
			x.reasonOf(c, true, "behind_plan")
		}
		at(75 * time.Second)
		x.reasonOf("holds", true, "behind_plan")
		x.reasonOf("soon", false, EstimateSpent)
		at(95 * time.Second)
		x.reasonOf("holds", true, Held)
		x.reasonOf("late", true, Held)
		at(175 * time.Second)
		x.reasonOf("late", true, Held)
		at(185 * time.Second)
		x.reasonOf("late", false, EstimateSpent)
		at(595 * time.Second)
		x.reasonOf("holds", true, Held)
		at(605 * time.Second)
		x.reasonOf("holds", false, TooOld)
		x.pace("eu", list...)
		time.Sleep(2 * time.Second)
		x.reasonOf("holds", true, "behind_plan")
	})
}

// TestClockOfController: a controller whose clock is an hour ahead cannot keep its parameters young
// after its end.
func TestClockOfController(t *testing.T) {
	inBubble(t, func(c *Config) { c.Endpoints = c.Endpoints[:1] }, func(x *fixture) {
		x.pace("eu", paced("c", 1))
		x.set("eu", func(s *server) { s.skew = time.Hour })
		for range 85 {
			x.reasonOf("c", true, "behind_plan")
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		x.reasonOf("c", true, Held)
		for range 510 {
			x.decide("c", "", "r")
			time.Sleep(time.Second)
		}
		x.reasonOf("c", false, TooOld)
	})
}

// TestOtherController: the parameters of another datacentre are used while those of the own one are
// stale.
func TestOtherController(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.pace("eu", paced("c", 0.2))
		x.pace("us", paced("c", 0.4))
		x.decide("c", "", "r")
		time.Sleep(100 * time.Second)
		x.pace("us", paced("c", 0.4))
		probability := func() float64 {
			x.decide("c", "", "r")
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			return x.decide("c", "", "r").Probability
		}
		if got := probability(); got != 0.4 {
			x.Errorf("with stale parameters of eu: %v", got)
		}
		x.pace("eu", paced("c", 0.3))
		time.Sleep(6 * time.Second)
		if got := probability(); got != 0.3 {
			x.Errorf("with new parameters of eu: %v", got)
		}
	})
}

// TestPrefetch: a prefetch does not wait, and the decision after it is from memory. It sends
// nothing for what is in memory.
func TestPrefetch(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.pace("eu", paced("c", 1))
		x.set("eu", func(s *server) { s.delay = 20 * time.Millisecond })
		began := time.Now()
		x.Prefetch("a", "b", "a")
		if took := time.Since(began); took != 0 {
			x.Errorf("Prefetch took %v", took)
		}
		time.Sleep(21 * time.Millisecond)
		before := x.Stats()
		if d := x.decide("c", "", "r"); !d.Serve {
			x.Errorf("%+v", d)
		}
		x.Prefetch("a", "b")
		synctest.Wait()
		if after := x.Stats(); after.Hits != before.Hits+1 || after.Requests != 2 || after.Waits != 0 {
			x.Errorf("%+v, then %+v", before, after)
		}
		time.Sleep(time.Hour)
		x.Prefetch("a")
		synctest.Wait()
		if n := x.Stats().Requests; n != 3 {
			x.Errorf("%d requests after an hour", n)
		}
		x.Close()
		x.Prefetch("c")
		if d := x.Decide(x.Context(), Ad{Account: "c"}); d.Reason != NotKnown {
			x.Errorf("a closed client: %+v", d)
		}
	})
}

// TestKinds: spend and pacing of an account are read and kept apart.
func TestKinds(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		x.pace("eu", paced("b", 1), paced("c", 1))
		x.expect("eu", Normal, "eu")
		p, err := x.Pacing(x.Context(), "a")
		if err != nil || !slices.Equal(p.Campaigns(), []string{"b", "c"}) || p.Writer != "eu" || p.Endpoint != "https://eu" || p.Mode() != Normal {
			x.Errorf("%+v %v", p, err)
		}
		if n := x.Stats(); n.Accounts != 2 || n.Requests != 2 {
			x.Errorf("%+v", n)
		}
	})
}
