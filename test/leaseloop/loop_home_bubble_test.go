//go:build synctests

package leaseloop_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/dynamotest"
)

// The home loses its power for longer than its region lease. The loop goes on in the others, one of which becomes the home and adopts
// what the lost one had; then that is back, with its copies of before. No resource is used for two keys, and none is lost.
func TestLoopHomeLost(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
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

// homeLoop is a loop whose home, ap, is lost.
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
	var vouchers sync.WaitGroup
	for _, region := range loopRegions() {
		vouchers.Go(func() { h.renewWriteLeases(ctx, region) })
	}
	h.start("a")
	h.caughtUp()
	u := h.users(func(region string, _ time.Duration) float64 {
		if region == "ap" && h.off.Load() {
			return 0
		}
		return 0.1
	}, 30*time.Second, 2*time.Minute)
	wishes, enough := context.WithCancel(ctx)
	u.run(wishes)
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
	h.power(true) // and does not hear the others at first
	wait(ctx, time.Minute)
	h.cutOff(false)
	wait(ctx, 2*time.Minute)
	enough()
	u.close()
	wait(ctx, 2*time.Minute)
	h.caughtUp()
	cancel()
	vouchers.Wait()

	h.settled(90)
	u.apart()
	for name, row := range h.stock("ap") {
		if row.Owner == "ap" {
			h.t.Errorf("%s is still in ap: %+v", name, row)
		}
	}
	on := map[string]int{}
	for _, x := range u.uses {
		if x.from.After(lost.Add(homeLease+20*time.Second)) && (x.region != "ap" || x.from.Before(adopted.Add(2*time.Minute))) {
			on[x.region]++
		}
	}
	h.t.Logf("%d adopted; leased after the home's lease was over: %v; calls without an outcome: %v", done.Adopted, on, u.failed)
	if on["eu"] < 10 || on["us"] < 10 || on["ap"] > 0 {
		h.t.Errorf("leased while the home was lost: %v", on)
	}
}

// renewWriteLeases is what a process of a region does, unless that has no power.
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

// power takes it from ap, or gives it back.
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

// cutOff has ap and the others not hear each other, or ends that.
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
