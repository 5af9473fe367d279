//go:build synctests

package leaseloop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// leaseFeed writes to a balancer's topics in a bubble as the bridge and the executors do.
type leaseFeed struct {
	t    *testing.T
	w    *processorstest.Harness
	rows map[string]*eventspb.LeaseResource
	read map[string]int // number of carried-out commands, by region
	done map[string]int // number of transfers, by resource and version
}

func (l *leaseFeed) produce(topic string, m proto.Message) {
	l.t.Helper()
	v, err := proto.Marshal(m)
	if err != nil {
		l.t.Fatal(err)
	}
	l.w.Produce(topic, 0, "", string(v))
}

func (l *leaseFeed) change(region string, c *eventspb.LeaseChange) {
	c.Region, c.AtMs = region, time.Now().UnixMilli()
	l.produce(events.LeaseChangesTopic, c)
}

func (l *leaseFeed) write(m *eventspb.LeaseResource) {
	m.Version++
	l.change(m.Owner, &eventspb.LeaseChange{Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Resource{Resource: m}})
}

// second simulates one second: heartbeats, refused keys in eu, and the executors.
func (l *leaseFeed) second(i int) {
	l.t.Helper()
	now := time.Now().UnixMilli()
	for _, at := range []string{"eu", "us"} {
		for _, from := range []string{"eu", "us"} {
			l.change(at, &eventspb.LeaseChange{Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: from, WrittenMs: now, SeenMs: now}}})
		}
		for n, r := range l.w.Records(events.LeaseCommandsTopic(at)) {
			if n >= l.read[at] {
				l.read[at]++
				l.execute(at, r.Value)
			}
		}
	}
	l.change("eu", &eventspb.LeaseChange{Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(i / 5)}}})
	time.Sleep(time.Second)
}

func (l *leaseFeed) execute(region string, value []byte) {
	c := &eventspb.LeaseCommand{}
	if err := proto.Unmarshal(value, c); err != nil {
		l.t.Fatal(err)
	}
	x := c.GetTransfer()
	if x == nil {
		return
	}
	l.done[fmt.Sprint(x.Resource, x.Version)]++
	if m := l.rows[x.Resource]; m.Version == x.Version && m.Owner == region {
		m.Owner, m.AvailableMs = x.To, time.Now().UnixMilli()+3000
		l.write(m)
	}
}

// TestBalancerOfStandbyTakesOver kills the owner again and again. The other process continues with
// the balancer of its standby, and the checks compare what it does with an undisturbed run.
func TestBalancerOfStandbyTakesOver(t *testing.T) {
	proc, err := balancer.ProcessorConfig{Regions: []string{"eu", "us"}, Partitions: 1}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := zerolog.New(zerolog.SyncWriter(&log))
	cfg := processors.Config{Workers: 1, Standbys: 1, RemainInGroup: true, Log: &logger}
	processorstest.Run(t, processorstest.Options{Processor: proc, Partitions: 1, Brokers: 1, Config: cfg}, func(_ *testing.T, w *processorstest.Harness) {
		l := &leaseFeed{t: t, w: w, rows: map[string]*eventspb.LeaseResource{}, read: map[string]int{}, done: map[string]int{}}
		procs := []*processorstest.Process{w.Start("a"), w.Start("b")}
		for i := range 100 {
			name := fmt.Sprintf("res-%03d", i)
			l.rows[name] = &eventspb.LeaseResource{Resource: name, Owner: "us", AvailableMs: time.Now().UnixMilli()}
			l.write(l.rows[name])
		}
		at := 0
		seconds := func(until func() bool) {
			for n := 0; n < 10 || !until(); n++ {
				at++
				l.second(at)
			}
		}
		for range 3 {
			seconds(func() bool { return procs[0].Status(0).HandlerWarm || procs[1].Status(0).HandlerWarm })
			owner := 0
			if procs[0].Status(0).HandlerWarm {
				owner = 1
			}
			procs[owner].Kill()
			seconds(func() bool { return procs[1-owner].Status(0).State == processors.StateRunning })
			procs[owner] = w.Start(procs[owner].Name())
		}
		w.CaughtUp()
	})
	if n := strings.Count(log.String(), `"warm":true`); n != 3 {
		t.Errorf("%d takeovers with the balancer of a standby, want 3", n)
	}
}

// TestBalancerSurvivesKills kills the balancer at every failpoint and restarts it. Each resource is
// transferred once, none stays in transit, and at the end the balancer's rows equal the table.
func TestBalancerSurvivesKills(t *testing.T) {
	proc, err := balancer.ProcessorConfig{Regions: []string{"eu", "us"}, Partitions: 1}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	processorstest.Run(t, processorstest.Options{Processor: proc, Partitions: 1}, func(t *testing.T, w *processorstest.Harness) {
		l := &leaseFeed{t: t, w: w, rows: map[string]*eventspb.LeaseResource{}, read: map[string]int{}, done: map[string]int{}}
		p := w.Start("a")
		for i := range 300 {
			name := fmt.Sprintf("res-%03d", i)
			l.rows[name] = &eventspb.LeaseResource{Resource: name, Owner: "us", AvailableMs: time.Now().UnixMilli()}
			l.write(l.rows[name])
		}
		at := 0
		for _, failpoint := range processorstest.Failpoints() {
			for range 10 {
				at++
				l.second(at)
			}
			p.KillAt(failpoint)
			for !p.Ended() {
				at++
				l.second(at)
			}
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process did not crash at %q: %v", failpoint, err)
			}
			p = w.Start("a")
		}
		for range 100 { // until all transfers are complete
			at++
			l.second(at)
		}
		w.CaughtUp()
		moved := 0
		for name, m := range l.rows {
			if m.Owner == "eu" {
				moved++
			}
			if n := l.done[name+"1"]; m.Owner == "eu" && n != 1 {
				t.Errorf("%s was commanded %d times", name, n)
			}
		}
		if moved == 0 || moved == 300 {
			t.Errorf("%d of 300 were transferred", moved)
		}
		if n := len(w.State(0, balancer.TableResources)); n != 300 {
			t.Errorf("the balancer has %d resources", n)
		}
		if n := len(w.State(0, balancer.TableFree)); n != 300 {
			t.Errorf("the balancer lists %d as available", n)
		}
		if n := len(w.State(0, balancer.TableTransfers)); n != 0 {
			t.Errorf("%d are still in transit", n)
		}
	})
}
