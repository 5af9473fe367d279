//go:build synctests

package leaseloop_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
)

// TestEvacuate evacuates a region: all its free resources arrive in the others, each once, within
// the rate limit. WEIR_TEST_EVACUATE is the number of resources.
func TestEvacuate(t *testing.T) {
	count := 2000
	if s := os.Getenv("WEIR_TEST_EVACUATE"); s != "" {
		var err error
		if count, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	profile := dynamotest.Hostile()
	profile.Rollover = time.Minute
	wall, begun := time.Now(), time.Time{}
	took := time.Duration(0)
	s := loopSetup{profile: profile, seed: 3, stock: map[string]int{"eu": count, "us": 10}, poll: 400 * time.Millisecond, heartbeat: 2 * time.Second, partitions: 3, watch: 5 * time.Second}
	inLoop(t, s, func(l *loop) {
		l.start("a")
		l.caughtUp()
		ctx := l.t.Context()
		eu, err := admin.Get(ctx, l.admin, admin.Region{Region: "eu"})
		if err == nil {
			eu.State = table.RegionEvacuating
			_, err = admin.Update(ctx, l.admin, eu)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		begun = time.Now()
		limit := time.Minute + 3*time.Duration(count)*time.Second/100 // three times the duration with the limit of 1,000 a plan
		for left := count; left > 0; {
			if time.Since(begun) > limit {
				l.t.Fatalf("%d of %d are still in eu after %v", left, count, limit)
			}
			wait(ctx, max(2*time.Second, time.Duration(count)*time.Millisecond)) // each poll reads every row
			left = 0
			for _, row := range l.stock("eu") {
				if row.Owner == "eu" {
					left++
				}
			}
		}
		if err := l.cloud.SetFaults(); err != nil {
			l.t.Fatal(err)
		}
		wait(ctx, time.Minute) // transfers complete
		l.caughtUp()
		l.settled(count+10, time.Now())
		moved := map[string]int{}
		for _, r := range readAll[eventspb.LeaseResult](l, events.LeaseResultsTopic) {
			if r.Kind == "transfer" && r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
				moved[r.Resource]++
				took = max(took, time.UnixMilli(r.DoneMs).Sub(begun))
			}
		}
		if len(moved) != count {
			l.t.Errorf("%d transfers were done for %d resources", len(moved), count)
		}
		if least := time.Duration((count-1)/1000) * 10 * time.Second; took < least {
			l.t.Errorf("took %v: the limit of 1,000 in 10 s requires %v or more", took, least)
		}
	})
	t.Logf("%d resources left the region in %v of virtual time, %v of real time", count, took, time.Since(wall).Round(time.Millisecond))
}
