package local

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weirhq/weir/processors"
)

// Several roles of a process often wait for the same thing: the reason is listed once.
func TestReadinessListsAReasonOnce(t *testing.T) {
	const same = "no broker has answered for 10s"
	got := ProcessReadiness([]Readiness{{Reasons: []string{same, "a waits"}}, {Reasons: []string{same, "b waits"}}})
	if want := []string{same, "a waits", "b waits"}; !slices.Equal(got.Reasons, want) {
		t.Errorf("got %q, want %q", got.Reasons, want)
	}
}

// A role that runs some partitions is ready, and lists those that are stopped. A role whose
// partitions are all stopped is not ready, and a partition that starts keeps a role from being
// ready.
func TestReadinessOfTasks(t *testing.T) {
	running := processors.Status{Partition: 1, State: processors.StateRunning}
	stopped := processors.Status{Partition: 5, State: processors.StateStopped, Reason: "in[5] cannot be read at offset 7"}
	also := processors.Status{Partition: 6, State: processors.StateStopped, Reason: "in[6] cannot be read at offset 9"}
	restoring := processors.Status{Partition: 2, State: processors.StateRestoring}
	standby := processors.Status{Partition: 3, State: processors.StateStandby}
	both := []string{"app partitions 5, 6 are stopped (partition 5: in[5] cannot be read at offset 7)"}
	for name, tc := range map[string]struct {
		tasks            []processors.Status
		reasons, stopped []string
	}{
		"running":     {[]processors.Status{running, standby}, nil, nil},
		"some":        {[]processors.Status{running, stopped, also}, nil, both},
		"all":         {[]processors.Status{stopped, also, standby}, both, both},
		"starting":    {[]processors.Status{running, restoring}, []string{"app partition 2 is restoring"}, nil},
		"standby":     {[]processors.Status{standby}, nil, nil},
		"not running": {[]processors.Status{restoring, stopped, also}, []string{"app partition 2 is restoring"}, both},
	} {
		var r Readiness
		r.addTasks("app", tc.tasks)
		if want := (Readiness{Partitions: len(tc.tasks), Reasons: tc.reasons, Stopped: tc.stopped}); !reflect.DeepEqual(r, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, r, want)
		}
	}
}
