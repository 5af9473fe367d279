package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// blank is a task without state.
type blank struct{}

func (blank) Set(stream.Timer)    {}
func (blank) Cancel(stream.Timer) {}

func (t blank) task() stream.Task {
	return stream.Task{
		Timers: t, Get: func(byte, []byte) ([]byte, error) { return nil, nil },
		Scan: func(byte, []byte, func(key, value []byte) error) error { return nil },
	}
}

// figuresOf are all series of the cores as "name{label=value ...} value", without the times that things take.
func figuresOf(t *testing.T, r *obs.Registry) (list []string) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "weir_lease_") && !strings.HasPrefix(f.GetName(), "weir_spend_") {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if !slices.Contains(labels, "kind=fire_ms") {
				list = append(list, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, " "), m.GetGauge().GetValue()))
			}
		}
	}
	return list
}

// What a partition's handlers show is gone when it goes elsewhere, and not before, nor another's; one that was only made to look at
// its state takes nothing away.
func TestFiguresGoWithTheirPartition(t *testing.T) {
	output := func(region string) (string, bool) { return events.LeaseCommandsTopic(region), true }
	for name, made := range map[string]func(*Lease, *Spend, int32) (stream.Handler, error){
		"liberator": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := liberator.New(liberator.Config{Output: output}, blank{}.task())
			return m.observeLiberator(c, partition), err
		},
		"dedup": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := dedup.New(dedup.Config{Output: output}, blank{}.task())
			return m.observeDedup(c, partition), err
		},
		"balancer": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := balancer.New(balancer.Config{Regions: []string{"eu", "us"}}, blank{}.task())
			return m.observeBalancer(c, partition, []string{"eu", "us"}), err
		},
		"spend counter": func(_ *Lease, spend *Spend, partition int32) (stream.Handler, error) {
			c, err := spendcounter.New(spendcounter.Config{}, blank{}.task())
			return spend.observe(c, partition), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := obs.NewRegistry("test")
			m, spend := NewLease(registry), NewSpend(registry)
			run := func(partition int32, work bool) stream.Handler {
				h, err := made(m, spend, partition)
				if err != nil {
					t.Fatal(err)
				}
				if !work {
					return h
				}
				if timed, ok := h.(stream.TimerHandler); ok {
					if err := timed.OnTimer(1_700_000_000_000, nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := h.Flush(stream.Commit{}, &stream.Changes{}); err != nil {
					t.Fatal(err)
				}
				return h
			}
			one := run(1, true)
			only := figuresOf(t, registry)
			two := run(2, true)
			both := figuresOf(t, registry)
			if len(only) < 5 || len(both) != 2*len(only) {
				t.Fatalf("%d series of one partition, %d of two: %v", len(only), len(both), both)
			}
			run(2, false).(stream.Closer).Close()
			if got := figuresOf(t, registry); !slices.Equal(got, both) {
				t.Errorf("after a look at the state: %v", got)
			}
			two.(stream.Closer).Close()
			if got := figuresOf(t, registry); !slices.Equal(got, only) {
				t.Errorf("after one went elsewhere: %v\nwant %v", got, only)
			}
			one.(stream.Closer).Close()
			if got := figuresOf(t, registry); len(got) > 0 {
				t.Errorf("after both went elsewhere: %v", got)
			}
		})
	}
}

// The balancer's figures are what it did.
func TestBalancerFigures(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewLease(registry)
	regions := []string{"eu", "us"}
	core, err := balancer.New(balancer.Config{Regions: regions}, blank{}.task())
	if err != nil {
		t.Fatal(err)
	}
	h := m.observeBalancer(core, 7, regions)
	now := int64(1_700_000_000_000)
	fold := func(c *eventspb.LeaseChange) {
		t.Helper()
		c.Client, c.Pool, c.AtMs = "c", "p", now
		value, err := proto.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		b := &stream.Batch{Topic: events.LeaseChangesTopic, Records: []stream.Record{{Value: value, TimeMs: now}}}
		if err := h.Fold(b); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
	}
	for i := range 100 {
		fold(&eventspb.LeaseChange{Region: "us", Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
			Resource: fmt.Sprint("r", i), Version: 1, Owner: "us", AvailableMs: now,
		}}})
	}
	for i := range 40 {
		now += 1000
		for _, at := range regions {
			for _, from := range regions {
				fold(&eventspb.LeaseChange{Region: at, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: from, WrittenMs: now, SeenMs: now}}})
			}
		}
		fold(&eventspb.LeaseChange{Region: "eu", Row: &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(i)}}})
		if err := h.(stream.TimerHandler).OnTimer(now, nil); err != nil {
			t.Fatal(err)
		}
	}
	var ch stream.Changes
	if err := h.Flush(stream.Commit{}, &ch); err != nil {
		t.Fatal(err)
	}
	commanded := 0
	for _, c := range ch.List {
		x := &eventspb.LeaseCommand{}
		if c.Op == stream.OpEmit && c.Output() == events.LeaseCommandsTopic(regions[1]) && proto.Unmarshal(c.Value, x) == nil && x.GetTransfer() != nil {
			commanded++
		}
	}
	all := figuresOf(t, registry)
	for _, want := range []string{
		"weir_lease_balancer{kind=pools partition=7} 1",
		fmt.Sprintf("weir_lease_balancer{kind=flying partition=7} %d", commanded),
		"weir_lease_balancer{kind=arrived partition=7} 0",
		"weir_lease_balancer_region{partition=7 region=eu state=active} 1",
		"weir_lease_balancer_region{partition=7 region=eu state=silent} 0",
		"weir_lease_balancer_short_pools{partition=7 region=us} 0",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no %s", want)
		}
	}
	moved := 0
	for _, kind := range []string{"move", "pull"} {
		for _, s := range all {
			n := 0
			if _, err := fmt.Sscanf(s, "weir_lease_balancer_moved{from=us kind="+kind+" partition=7 to=eu} %d", &n); err == nil {
				moved += n
			}
		}
	}
	if moved != commanded || moved == 0 {
		t.Errorf("%d resources were commanded, the figures say %d: %v", commanded, moved, all)
	}
}
