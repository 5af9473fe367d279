package ops

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	weirconnect "github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Stopped partitions are errors, one for each reason, with a remedy.
func TestTaskChecks(t *testing.T) {
	running := &weirpb.Partition{App: "app", Partition: 0, State: "running"}
	standby := &weirpb.Partition{App: "app", Partition: 5, State: "standby"}
	stopped := func(p int32, reason string) *weirpb.Partition {
		return &weirpb.Partition{App: "app", Partition: p, State: "stopped", Reason: reason}
	}
	unreadable := func(p int32, next int64) *weirpb.Partition {
		t := stopped(p, "cannot be read")
		t.Unreadable = &weirpb.UnreadableInput{Topic: "in", Next: next}
		return t
	}
	damage := &kafka.DamagedChangelogError{Topic: "log", Partition: 3, Err: errors.New("crc")}
	other := &weirpb.Partition{App: "other", Partition: 7, State: "stopped", Reason: "why"}
	for name, tc := range map[string]struct {
		tasks []*weirpb.Partition
		want  []string
	}{
		"well":      {[]*weirpb.Partition{running, standby, other}, nil},
		"unknown":   {[]*weirpb.Partition{running, stopped(5, "full")}, []string{"error p: partition 5 is stopped (full) (remove the reason"}},
		"recreated": {[]*weirpb.Partition{stopped(0, "topic in was deleted and created again"), stopped(1, "topic in was deleted and created again")}, []string{"error p: partitions 0, 1 are stopped (topic in was deleted and created again) (if dc or spend.generation"}},
		"unreadable": {
			[]*weirpb.Partition{unreadable(4, 9), unreadable(5, 3)},
			[]string{"error p: partition 4 is stopped (cannot be read) (`weir partition skip in/4 --to 9 --app app`", "error p: partition 5 is stopped (cannot be read) (`weir partition skip in/5 --to 3 --app app`"},
		},
		"damaged changelog": {
			[]*weirpb.Partition{
				stopped(3, damage.Error()), running,
				{App: "app", Partition: 4, State: "standby", Instance: "b", Reason: damage.Error()},
				{App: "app", Partition: 5, State: "standby", Reason: "it is catching up"},
			},
			[]string{"error p: partition 3 is stopped (the changelog log[3] is damaged: crc", "warning p: the standby of partition 4 in process b does not follow"},
		},
		"damaged standby alone": {
			[]*weirpb.Partition{{App: "app", Partition: 4, State: "standby", Instance: "b", Reason: damage.Error()}},
			[]string{"warning partitions of app: not known", "warning p: the standby of partition 4 in process b does not follow"},
		},
		"damaged standby beside its owner": {
			[]*weirpb.Partition{running, {App: "app", Partition: 4, State: "standby", Instance: "b", Reason: damage.Error()}},
			[]string{"warning p: the standby of partition 4 in process b does not follow"},
		},
		"two": {
			[]*weirpb.Partition{stopped(0, "in[0] cannot be read at offset 7"), stopped(1, "2 records in a row panicked"), {App: "app", Partition: 2, State: "restoring"}},
			[]string{"error p: partition 0 is stopped (in[0] cannot be read", "error p: partition 1 is stopped (2 records in a row panicked) (deploy", "warning p: partition 2 is restoring (wait"},
		},
	} {
		got := findings(taskChecks("p", "app", tc.tasks))
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
			continue
		}
		for i, want := range tc.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}

// cluster is the ClusterService of a process with a stopped partition.
type cluster struct {
	weirpbconnect.UnimplementedClusterServiceHandler
}

func (cluster) ListPartitions(context.Context, *connect.Request[weirpb.ListPartitionsRequest]) (*connect.Response[weirpb.ListPartitionsResponse], error) {
	return connect.NewResponse(&weirpb.ListPartitionsResponse{Partitions: []*weirpb.Partition{
		{App: "app", Partition: 0, State: "running"}, {App: "app", Partition: 1, State: "stopped", Reason: "why"},
	}}), nil
}

// The processes of the group are asked until one answers. Without a process, or without an answer,
// the check is a warning.
func TestMemberChecks(t *testing.T) {
	has := func(want string, endpoints ...string) {
		t.Helper()
		var members []processors.Member
		for _, e := range endpoints {
			members = append(members, processors.Member{Endpoint: e})
		}
		got := findings((&partitionCheck{
			known: map[string][]processors.Member{"app": members}, tasks: weirconnect.NewTasks(node.Access{}),
		}).app(t.Context(), "app"))
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	mux := http.NewServeMux()
	mux.Handle(weirpbconnect.NewClusterServiceHandler(cluster{}))
	s := httptest.NewServer(mux)
	defer s.Close()
	silent := clitest.FreeAddr(t)
	has("warning partitions of app: not known: no process runs")
	has("warning partitions of app: not known: no process answers: no weir process answers at "+silent, silent, silent)
	has("error partitions of app: partition 1 is stopped (why)", silent, s.Listener.Addr().String())
}

// A process with another duplicate window is found, with both values.
func TestSettingsChecks(t *testing.T) {
	cfg, err := config.Load(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	app := func() node.App {
		t.Helper()
		found, err := node.FindApp(cfg, "spendcounter")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	same := processors.Member{Instance: "a", Settings: maps.Clone(app().Processor.Settings)}
	other := processors.Member{Instance: "b", Settings: map[string]string{"the duplicate window": "5m0s"}}
	if got := findings(settingsChecks(app(), []processors.Member{same, {Instance: "old"}})); len(got) != 0 {
		t.Errorf("the same settings: %q", got)
	}
	got := findings(settingsChecks(app(), []processors.Member{same, other}))
	if want := "warning settings of spendcounter: the duplicate window is 10m0s here, and 5m0s in process b"; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
	cfg.Spend.DuplicateWindow = 5 * time.Minute
	if got := findings(settingsChecks(app(), []processors.Member{other})); len(got) != 0 {
		t.Errorf("the setting of the process: %q", got)
	}
}

// What was skipped is listed with a running partition.
func TestSkippedChecks(t *testing.T) {
	p := &weirpb.Partition{App: "app", Partition: 3, State: "running", Skipped: []*weirpb.SkippedRange{{Topic: "in", From: 7, To: 9, Who: "me", Why: "a bomb", AtMs: 1000}}}
	checks := taskChecks("p", "app", []*weirpb.Partition{p})
	if want := "partition 3 does not have in/3 from offset 7 to 8 (2 offsets): skipped by me at 1970-01-01T00:00:01Z: a bomb"; len(checks) != 2 || !checks[0].OK || !checks[1].OK || checks[0].Detail != want {
		t.Errorf("%+v", checks)
	}
}

// Arguments that name no partition, or lack the reason, are refused before a broker is asked.
func TestPartitionSkipUsage(t *testing.T) {
	for _, args := range [][]string{
		{"ads.events", "--to", "8"},
		{"ads.events/x", "--to", "8"},
		{"ads.events/-1", "--to", "8"},
		{"/1", "--to", "8"},
		{"ads.events/1"},
		{"ads.events/1", "--to", "8", "--yes"},
		{"ads.events/1", "--to", "8", "--why", strings.Repeat("x", 201)},
		{"ads.events/1", "--to", "8", "--app", "lease-balanser"},
		{"lease.commands.eu/1", "--to", "8", "--app", "lease-executor.eu", "--yes"},
	} {
		if got := clitest.Run(t, Commands, []string{"WEIR_LEASES_REGIONS=eu,us"}, append([]string{"partition", "skip"}, args...)...); got.Code != cli.ExitUsage {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
