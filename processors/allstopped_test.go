package processors

import "testing"

// TestAllStoppedStates: Run ends for stopped partitions only if the process has no other partition,
// and gets none.
func TestAllStoppedStates(t *testing.T) {
	stopped := Status{State: StateStopped, Reason: "a bad record"}
	for _, c := range []struct {
		what    string
		tasks   []Status
		warming int
		want    string
	}{
		{what: "no partition"},
		{"one stopped", []Status{stopped}, 0, "partition 0: a bad record"},
		{"two stopped", []Status{stopped, stopped}, 0, "partition 0: a bad record (and 1 more)"},
		{"one runs", []Status{stopped, {State: StateRunning}}, 0, ""},
		{"one is restored", []Status{stopped, {State: StateRestoring}}, 0, ""},
		{"one waits for an instruction", []Status{stopped, {State: StateStopped, awaitsSkip: true}}, 0, ""},
		{"a standby", []Status{stopped, {State: StateStandby}}, 0, "partition 0: a bad record"},
		{"only standbys", []Status{{State: StateStandby}}, 0, ""},
		{"a partition comes", []Status{stopped, {State: StateStandby}}, 1, ""},
	} {
		if got := allStopped(c.tasks, c.warming); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
