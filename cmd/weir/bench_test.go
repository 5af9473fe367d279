package main

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/processors/devbroker"
)

// TestBench runs the benchmarks that need no process of their own with a small log, or for a short
// time: they use the spend counter and the job queues as they are.
func TestBench(t *testing.T) {
	broker, err := devbroker.Start(devbroker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	brokers := "--brokers=" + strings.Join(broker.Addrs(), ",")
	for name, args := range map[string][]string{
		"spend":   {"--events", "4000", "--campaigns", "10", "--zipf", "-1"},
		"growth":  {"--events", "8000"},
		"latency": {"--capacity", "1s", "--measure", "1s"},

		"datacentres": {"--events", "8001", "--campaigns", "10"},
		"jobs": {
			"--duration", "300ms", "--idle", "100ms", "--partitions", "2", "--agents", "4", "--batch", "50", "--rate", "200", "--steady", "200", "--parked", "300",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "spend" {
				t.Skip("takes minutes with the race detector")
			}
			r := weir(t, nil, append([]string{"bench", name, brokers, "--rounds", "1", "-o", "csv"}, args...)...)
			if r.Code != 0 || strings.Count(r.Stdout, "\n") < 2 {
				t.Errorf("code %d, want figures:\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}
