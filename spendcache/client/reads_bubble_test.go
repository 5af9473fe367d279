//go:build synctests

package client

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// readTraffic is the traffic of an ad server in TestReadsSaved.
type readTraffic struct {
	perSecond int // ad requests
	campaigns int // by Zipf 1.0, 10 in an account, with 2 arms each
}

// TestReadsSaved: answers by account save reads, against a client that reads and keeps each
// campaign and arm by itself for the same time. Reads ahead save most of the waiting. The campaigns
// of an ad request are independent of each other, which is the worst case.
func TestReadsSaved(t *testing.T) {
	for _, load := range []readTraffic{{100, 1000}, {1000, 10_000}} {
		t.Run(fmt.Sprintf("%d/s of %d campaigns", load.perSecond, load.campaigns), func(t *testing.T) {
			inBubble(t, nil, func(x *fixture) { load.measure(x) })
		})
	}
}

func (load readTraffic) measure(x *fixture) {
	const candidates, arms, perAccount = 5, 2, 10 // an ad request considers one arm of each of its candidates
	rng := rand.New(rand.NewPCG(1, 2))
	pick, place := zipf(rng, load.campaigns), rng.Perm(load.campaigns)
	keys, byKey := map[[2]int]time.Time{}, 0
	run := func(seconds int) {
		for range seconds * load.perSecond {
			time.Sleep(time.Second / time.Duration(load.perSecond))
			for range candidates {
				campaign := pick()
				key := [2]int{campaign, rng.IntN(arms)}
				if now := time.Now(); !now.Before(keys[key]) {
					byKey++
					keys[key] = now.Add(jitter(x.cfg.TTL))
				}
				ad := Ad{Account: fmt.Sprint("account-", place[campaign]/perAccount), Campaign: fmt.Sprint(campaign), Arm: fmt.Sprint(key[1])}
				if d := x.Decide(x.Context(), ad); d.Reason != NotPaced { // the servers have no campaigns
					x.Fatalf("%+v", d)
				}
			}
		}
	}
	run(15) // fills the memory of both
	before := x.Stats()
	byKey = 0
	run(60)
	after := x.Stats()
	requests, waits := after.Requests-before.Requests, after.Waits-before.Waits
	saved, spared := 1-float64(requests)/float64(byKey), 1-float64(waits)/float64(byKey)
	x.Logf("by campaign and arm: %d requests, each with a wait; by account: %d requests (%.0f %% fewer), %d waits (%.0f %% fewer)",
		byKey, requests, 100*saved, waits, 100*spared)
	if saved < 0.6 || spared < 0.9 {
		x.Errorf("%.2f of the requests and %.2f of the waits were saved, want 0.6 and 0.9", saved, spared)
	}
}

// zipf returns a function that draws numbers in [0, n), 0 most often, with the exponent 1.0.
func zipf(rng *rand.Rand, n int) func() int {
	sums := make([]float64, n)
	total := 0.0
	for i := range sums {
		total += 1 / float64(i+1)
		sums[i] = total
	}
	return func() int { return sort.SearchFloat64s(sums, rng.Float64()*total) }
}
