package main

import (
	"slices"
	"strings"
	"testing"
)

func TestProperties(t *testing.T) {
	m := maker{source: "s:1", target: "t:2", topic: fullLog.topic(), internal: "run-7", tasks: 3}
	lines := func(m maker, more ...string) []string { return strings.Split(m.properties(more), "\n") }
	common := []string{
		`us->eu.topics = ads\\.events\\.g1000`, "us.bootstrap.servers = s:1", "eu.bootstrap.servers = t:2", "tasks.max = 3",
		"eu.group.id = run-7", "eu.offset.storage.topic = run-7.offsets",
	}
	once := []string{"eu.exactly.once.source.support = enabled", "us.consumer.isolation.level = read_committed"}
	for _, exactly := range []bool{false, true} {
		m.exactly = exactly
		got := lines(m)
		for _, line := range common {
			if !slices.Contains(got, line) {
				t.Errorf("exactly once %t: no line %q in %q", exactly, line, got)
			}
		}
		for _, line := range once {
			if slices.Contains(got, line) != exactly {
				t.Errorf("exactly once %t: line %q: %t", exactly, line, !exactly)
			}
		}
	}
	got := lines(m, "tasks.max=5", "eu.producer.acks = 1")
	if !slices.Contains(got, "tasks.max = 5") || slices.Contains(got, "tasks.max = 3") || !slices.Contains(got, "eu.producer.acks = 1") {
		t.Errorf("the properties of the command line are missing in %q", got)
	}
}

// TestLogNames: the topics of the full log, of the live log and of a datacentre in operation
// differ.
func TestLogNames(t *testing.T) {
	if got := fullLog.topic(); got != "ads.events.g1000" {
		t.Errorf("the log is %s", got)
	}
	for name, want := range map[string][2]bool{
		"ads.events": {}, "ads.events.g2": {}, "mirror": {}, "ads.events.from.us.g999": {false, true},
		"mirror.state.g1000": {true, false}, "mirror.g1000": {true, false},
	} {
		if got := [2]bool{fullLog.has(name), liveLog.has(name)}; got != want {
			t.Errorf("%s belongs to full and live log: %v, want %v", name, got, want)
		}
	}
}
