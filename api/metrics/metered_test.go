package metrics

import (
	"maps"
	"testing"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// TestGaugesFollowPartition: the gauges of a partition are removed when its handler is closed, and
// not before. A handler that was made only to inspect state removes nothing. Counters and
// histograms stay.
func TestGaugesFollowPartition(t *testing.T) {
	output := func(region string) (string, bool) { return events.LeaseCommandsTopic(region), true }
	for name, makeHandler := range map[string]func(*Lease, *Spend, int32) (stream.Handler, error){
		"liberator": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := liberator.New(liberator.Config{Output: output}, taskWith(nil))
			return m.liberator.observe(c, partition), err
		},
		"dedup": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := dedup.New(dedup.Config{Output: output}, taskWith(nil))
			return m.dedup.observe(c, partition), err
		},
		"balancer": func(m *Lease, _ *Spend, partition int32) (stream.Handler, error) {
			c, err := balancer.New(balancer.Config{Regions: []string{"eu", "us"}}, taskWith(nil))
			return m.balancer.observe(c, partition, []string{"eu", "us"}), err
		},
		"spend counter": func(_ *Lease, spend *Spend, partition int32) (stream.Handler, error) {
			c, err := spendcounter.New(spendcounter.Config{}, taskWith(nil))
			return spend.observe(c, partition), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := obs.NewRegistry("test")
			m, spend := NewLease(registry), NewSpend(registry)
			run := func(partition int32, work bool) stream.Closer {
				h, err := makeHandler(m, spend, partition)
				if err != nil {
					t.Fatal(err)
				}
				if !work {
					return h.(stream.Closer)
				}
				if timed, ok := h.(stream.TimerHandler); ok {
					if err := timed.OnTimer(1_700_000_000_000, nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := h.Flush(stream.Commit{}, &stream.Changes{}); err != nil {
					t.Fatal(err)
				}
				return h.(stream.Closer)
			}
			idle := series(t, registry)
			if len(idle) < 10 || len(gaugesOf(idle)) != 0 {
				t.Errorf("before the first handler: %v, want counters and histograms alone", idle)
			}
			first := run(1, true)
			one := gaugesOf(series(t, registry))
			second := run(2, true)
			two := gaugesOf(series(t, registry))
			if len(one) < 1 || len(two) != 2*len(one) {
				t.Fatalf("%d gauges of one partition, %d of two: %v", len(one), len(two), two)
			}
			run(2, false).Close()
			if got := gaugesOf(series(t, registry)); !maps.Equal(got, two) {
				t.Errorf("after the state was inspected: %v, want %v", got, two)
			}
			second.Close()
			if got := gaugesOf(series(t, registry)); !maps.Equal(got, one) {
				t.Errorf("after the second partition moved: %v, want %v", got, one)
			}
			first.Close()
			last := series(t, registry)
			if got := gaugesOf(last); len(got) > 0 {
				t.Errorf("after both partitions moved: %v", got)
			}
			if len(last) != len(idle) {
				t.Errorf("%d counters and histograms, want %d as before", len(last), len(idle))
			}
		})
	}
}
