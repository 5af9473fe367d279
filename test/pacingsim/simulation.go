//go:build synctests

package pacingsim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/spendcache/client"
)

const (
	account  = "acme"
	currency = "EUR"
	day      = 24 * time.Hour
	servers  = 3
	// requestsPerSecond is the mean of the day.
	requestsPerSecond = 5
	// medianPrice is in micros.
	medianPrice = 10_000
	// stopSeconds is the time after which an ad server that is cut off has stopped.
	stopSeconds = 11 * 60
	// lag is the age of the spend that a service reads.
	lag = 3 * time.Second
	// packSeconds is how long packs take to other datacentres.
	packSeconds = 5
)

// campaign is a campaign and what it was charged.
type campaign struct {
	budget.Campaign

	weight   float64 // of the requests that are offered to it first
	turn     float64 // campaigns with a smaller one are asked before it
	arms     []string
	offered  int64   // what all requests that were offered to it first would have cost
	charged  []int64 // by arm, or of the campaign
	pending  [4][]int64
	history  [][]int64 // charged by the end of each second
	byDC     []int64   // charged, by the datacentre of the ad server
	decision map[string]int
}

func (c *campaign) total() (micros int64) {
	for _, m := range c.charged {
		micros += m
	}
	for _, later := range c.pending {
		for _, m := range later {
			micros += m
		}
	}
	return micros
}

// simulation is a day.
type simulation struct {
	rng       *rand.Rand
	began     time.Time
	doc       *budget.Document
	campaigns []*campaign
	services  []*service // by datacentre
	servers   []*transport
	sent      []sent // packs, in the order of their times
	clients   []*client.Client
	drifts    bool // mutation
	idle      bool // campaigns may be idle for long: their budgets need not be used
	late      int  // ads of servers that should have stopped
	second    int  // that begins next
	requests  int
}

// mutation breaks a rule.
type mutation string

const (
	believes   mutation = "the service believes that spend that does not get newer is new"
	neverStops mutation = "an ad server that is cut off does not stop"
	drifts     mutation = "datacentres do not know each other's parameters"
)

// newSimulation makes a day of some datacentres at midnight.
func newSimulation(t *testing.T, seed uint64, dcs int, m mutation) *simulation {
	t.Helper()
	d, demand := document(t)
	w := &simulation{rng: rand.New(rand.NewPCG(seed, 0)), began: time.Now(), doc: d, drifts: m == drifts}
	for dc := range dcs {
		w.services = append(w.services, &service{
			simulation: w, dc: dc, lag: lag, packs: map[int]*eventspb.AccountPack{}, believes: m == believes,
		})
	}
	w.setBudgets(d)
	for _, b := range d.Campaigns {
		c := &campaign{Campaign: b, weight: demand[b.ID], arms: []string{""}, decision: map[string]int{}}
		if len(b.Arms) > 0 {
			c.arms = nil
		}
		for _, arm := range b.Arms {
			c.arms = append(c.arms, arm.ID)
		}
		c.charged, c.byDC = make([]int64, len(c.arms)), make([]int64, dcs)
		for i := range c.pending {
			c.pending[i] = make([]int64, len(c.arms))
		}
		w.campaigns = append(w.campaigns, c)
	}
	for i := range max(servers, dcs) {
		x := &transport{service: w.services[i%dcs]}
		cfg := client.Config{Endpoints: []string{"http://eu"}, Transport: x}
		if m == neverStops {
			cfg.Unusable = day
		}
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		w.servers, w.clients = append(w.servers, x), append(w.clients, c)
	}
	return w
}

// setBudgets sets another version of the budgets.
func (w *simulation) setBudgets(d *budget.Document) {
	for _, s := range w.services {
		s.setBudgets(d)
	}
}

// run has the day up to a time, with faults.
func (w *simulation) run(ctx context.Context, until time.Duration, faults []Fault) {
	for ; time.Duration(w.second)*time.Second < until; w.second++ {
		second := w.second
		pause.For(ctx, time.Until(w.began.Add(time.Duration(second)*time.Second)))
		for i, x := range w.servers {
			f, cut := active(faults, time.Duration(second)*time.Second, x.service.dc)[Cut]
			if cut = cut && (f.Server == i || f.Server < 0); !cut {
				x.since = second
			}
			x.cut.Store(cut)
		}
		w.deliver(second)
		for dc, s := range w.services { // each has its ticks at another second
			if (second+3*dc)%int(control.Tick.Seconds()) == 0 {
				s.tick(second, active(faults, time.Duration(second)*time.Second, dc))
			}
		}
		w.serve(ctx, second)
	}
}

// serve has the requests of a second.
func (w *simulation) serve(ctx context.Context, second int) {
	for _, c := range w.campaigns {
		due := c.pending[second%len(c.pending)]
		for i := range due {
			c.charged[i] += due[i]
			due[i] = 0
		}
	}
	// Twice as many in the evening as in the morning.
	rate := requestsPerSecond * (1 - 0.35*math.Cos(2*math.Pi*(float64(second)/day.Seconds()-0.3)))
	for range int(rate + w.rng.Float64()) {
		w.requests++
		w.auction(ctx, second, w.rng.IntN(len(w.clients)))
	}
	for _, c := range w.campaigns {
		c.history = append(c.history, append([]int64(nil), c.charged...))
	}
}

// auction offers a request of an ad server to the campaigns, in an order that their weights decide,
// until one takes part.
func (w *simulation) auction(ctx context.Context, second, server int) {
	request := fmt.Sprint("request-", w.requests)
	micros, delay := int64(medianPrice*math.Exp(0.5*w.rng.NormFloat64())), 1+w.rng.IntN(3)
	for rank, c := range w.order() {
		if rank == 0 {
			c.offered += micros
		}
		arm := w.rng.IntN(len(c.arms))
		d := w.clients[server].Decide(ctx, client.Ad{Account: account, Campaign: c.ID, Arm: c.arms[arm], Request: request})
		c.decision[d.Reason]++
		if d.Serve {
			c.pending[(second+delay)%len(c.pending)][arm] += micros
			x := w.servers[server]
			c.byDC[x.service.dc] += micros
			if second-x.since > stopSeconds {
				w.late++
			}
			return
		}
	}
}

// order draws an order of the campaigns: the weight of one is its chance to be the next.
func (w *simulation) order() []*campaign {
	for _, c := range w.campaigns {
		c.turn = w.rng.ExpFloat64() / c.weight
	}
	return slices.SortedFunc(slices.Values(w.campaigns), func(a, b *campaign) int { return cmp.Compare(a.turn, b.turn) })
}
