//go:build synctests

package leaseloop_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
)

// TestLoopHomeLost: the home region loses its power for longer than its write lease. The other
// regions continue, one becomes the home region and adopts the resources of the lost one. Then the
// lost region returns with its old copies. No resource is used for two keys, and none is lost.
func TestLoopHomeLost(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	profile := dynamotest.Friendly()
	profile.ReplicationLag = dynamotest.Span{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond}
	s := loopSetup{
		profile: profile, seed: 5, stock: map[string]int{"ap": 30, "eu": 30, "us": 30},
		poll: time.Second, heartbeat: 4 * time.Second, partitions: 1, brokers: 1, watch: 10 * time.Second,
	}
	inLoop(t, s, func(l *loop) {
		h := &homeLoop{loop: l}
		h.run()
	})
}

// homeLoop is a loop whose home region, ap, is lost.
type homeLoop struct {
	*loop
	off atomic.Bool
}

const homeLease = time.Minute

func (h *homeLoop) run() {
	ctx, cancel := context.WithCancel(h.t.Context())
	for _, region := range loopRegions() {
		r, err := admin.Get(ctx, h.admin, admin.Region{Region: region})
		if r.WriteLease = admin.Duration(homeLease); err == nil {
			_, err = admin.Update(ctx, h.admin, r)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	var grantors sync.WaitGroup
	for _, region := range loopRegions() {
		grantors.Go(func() { h.renewWriteLeases(ctx, region) })
	}
	h.start("a")
	h.caughtUp()
	u := h.users(func(region string, _ time.Duration) float64 {
		if region == "ap" && h.off.Load() {
			return 0
		}
		return 0.1
	}, 30*time.Second, 2*time.Minute)
	requests, stopRequests := context.WithCancel(ctx)
	u.run(requests)
	wait(ctx, 2*time.Minute)

	lost := time.Now()
	h.power(false)
	h.cutOff(true)
	wait(ctx, 2*time.Minute)
	if _, err := h.admin.MoveHome(ctx, admin.HomeMove{To: "eu", DeadSince: lost}); err != nil {
		h.t.Fatal(err)
	}
	eu, err := admin.New(admin.Config{Table: loopTable, Regions: loopRegions(), Home: "eu", Client: h.conn.Client, Streams: h.conn.Streams, Skew: loopSkew})
	if err != nil {
		h.t.Fatal(err)
	}
	adoption := admin.Adoption{Region: "ap", By: "us", DeadSince: lost}
	done, err := eu.Adopt(ctx, adoption)
	for early := (*admin.EarlyError)(nil); errors.As(err, &early); done, err = eu.Adopt(ctx, adoption) {
		wait(ctx, time.Until(early.Until)+time.Second)
	}
	if err != nil || done.Adopted == 0 {
		h.t.Fatalf("%+v, %v", done, err)
	}
	adopted := time.Now()
	wait(ctx, time.Minute)
	h.power(true) // without a connection to the others at first
	wait(ctx, time.Minute)
	h.cutOff(false)
	wait(ctx, 2*time.Minute)
	stopRequests()
	u.close()
	wait(ctx, 2*time.Minute)
	h.caughtUp()
	cancel()
	grantors.Wait()

	h.settled(90, done.Offered)
	u.apart()
	for name, row := range h.stock("ap") {
		if row.Owner == "ap" {
			h.t.Errorf("ap still owns %s: %+v", name, row)
		}
	}
	leased := map[string]int{}
	for _, x := range u.uses {
		if x.from.After(lost.Add(homeLease+20*time.Second)) && (x.region != "ap" || x.from.Before(adopted.Add(2*time.Minute))) {
			leased[x.region]++
		}
	}
	h.t.Logf("%d adopted; leases after the end of the home region's write lease: %v; calls with an unknown outcome: %v", done.Adopted, leased, u.failed)
	if leased["eu"] < 10 || leased["us"] < 10 || leased["ap"] > 0 {
		h.t.Errorf("leases while the home region was lost: %v", leased)
	}
}

// renewWriteLeases renews write leases as a process of a region does, while the region has power.
func (h *homeLoop) renewWriteLeases(ctx context.Context, region string) {
	for {
		if region != "ap" || !h.off.Load() {
			if _, err := h.admin.RenewWriteLeases(ctx, region); err != nil && ctx.Err() == nil {
				h.t.Errorf("%s: %v", region, err)
			}
		}
		if !wait(ctx, 10*time.Second) {
			return
		}
	}
}

// power switches the power of ap.
func (h *homeLoop) power(on bool) {
	h.t.Helper()
	h.off.Store(!on)
	var faults []dynamotest.Fault
	if !on {
		faults = append(faults, dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "ap"})
	}
	if err := h.cloud.SetFaults(faults...); err != nil {
		h.t.Fatal(err)
	}
}

// cutOff cuts or restores the connections between ap and the other regions.
func (h *homeLoop) cutOff(cut bool) {
	h.t.Helper()
	var errs []error
	for _, other := range []string{"eu", "us"} {
		errs = append(errs, h.cloud.Cut("ap", other, cut), h.cloud.Cut(other, "ap", cut))
	}
	if err := errors.Join(errs...); err != nil {
		h.t.Fatal(err)
	}
}
