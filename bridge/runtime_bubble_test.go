//go:build synctests

package bridge

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// running is a cloud and a crash harness of the runtime, in one bubble.
type running struct {
	*fixture
	k *processorstest.Harness
}

// inRuntime runs f with the bridges of two regions in the real runtime, on fake brokers, and then
// checks the changes.
func inRuntime(t *testing.T, profile dynamotest.Profile, f func(t *testing.T, r *running)) {
	t.Helper()
	regions := []string{"eu-west-1", "us-east-1"}
	r := &running{}
	p := Config{}.Processor()
	p.Partitions, p.New = 2, func(task stream.Task) (stream.Handler, error) { return r.cfg.Processor().New(task) }
	// The outputs of a bridge depend on more than its input topic, so they cannot be refolded.
	o := processorstest.Options{Processor: p, Config: processors.Config{Tick: 100 * time.Millisecond}, NoRefold: true}
	processorstest.Run(t, o, func(t *testing.T, k *processorstest.Harness) {
		r.k, r.fixture = k, newFixture(t, profile, 1, regions...)
		r.cfg.Partitions, r.cfg.HeartbeatInterval = 2, -1
		t.Cleanup(func() { r.cloud.Close() }) // once the processes have ended
		f(t, r)
		for _, region := range regions {
			if err := r.check(region, r.read()); err != nil {
				t.Error(err)
			}
		}
	})
}

func (r *running) read() (list []*eventspb.LeaseChange) {
	for _, rec := range r.k.Records(events.LeaseChangesTopic) {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(rec.Value, c); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// TestKillsInTheRuntime kills two processes at every failpoint of a commit and between, while two
// regions write through rollovers and faults: each change is in lease.changes once, and in order.
func TestKillsInTheRuntime(t *testing.T) {
	inRuntime(t, dynamotest.Hostile(), func(t *testing.T, r *running) {
		var writers sync.WaitGroup
		for i, region := range r.cfg.Regions {
			for k := range 3 {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				writers.Go(func() {
					for range 250 {
						n := rng.IntN(20)
						_ = r.resource(t.Context(), region, fmt.Sprintf("%s-%d", region, n), fmt.Sprintf("p%d", n%3)) // the table shows whether it was made
						sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
					}
				})
			}
		}
		names := []string{"a", "b"}
		procs := []*processorstest.Process{r.k.Start("a"), r.k.Start("b")}
		rng := rand.New(rand.NewPCG(1, 9))
		kills := 0
		for _, failpoint := range append(processorstest.Failpoints(), processorstest.Failpoints()...) {
			i := rng.IntN(2)
			sleep(2 * time.Second)
			procs[i].KillAt(failpoint)
			sleep(2 * time.Second) // it dies there if it commits
			procs[i].Kill()
			kills++
			procs[i] = r.k.Start(names[i])
		}
		writers.Wait()
		if err := r.cloud.SetFaults(); err != nil {
			t.Error(err)
		}
		r.k.CaughtUp()
		sleep(15 * time.Second)
		if n := len(r.read()); n < 1000 {
			t.Errorf("%d changes and %d kills are too few for a check", n, kills)
		}
	})
}

// TestTransactionsInTheRuntime holds that there is no transaction without a change, and that a
// change is in lease.changes after a poll and a tick, whatever state the other region is in.
func TestTransactionsInTheRuntime(t *testing.T) {
	inRuntime(t, dynamotest.Profile{}, func(t *testing.T, r *running) {
		r.k.Start("a")
		r.k.CaughtUp()
		sleep(10 * time.Second)
		log := events.LeaseStateTopic(events.BridgeApp)
		before := len(r.k.Records(log))
		if sleep(time.Minute); len(r.k.Records(log)) != before {
			t.Errorf("%d records of transactions in a quiet minute", len(r.k.Records(log))-before)
		}
		if err := r.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "us-east-1"}); err != nil {
			t.Fatal(err)
		}
		sleep(time.Minute)
		n := len(r.read())
		if err := r.resource(t.Context(), "eu-west-1", "r", "p"); err != nil {
			t.Fatal(err)
		}
		if sleep(700 * time.Millisecond); len(r.read()) != n+1 {
			t.Errorf("%d changes 700 ms after a write", len(r.read())-n)
		}
		r.k.Produce(events.LeaseBridgeTopic, 0, "eu-west-1", ControlScan)
		r.k.CaughtUp()
		if sleep(2 * time.Second); len(r.read()) != n+2 {
			t.Errorf("%d changes after a scan", len(r.read())-n)
		}
		if err := r.cloud.SetFaults(); err != nil {
			t.Error(err)
		}
		sleep(10 * time.Second)
	})
}
