package ops

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// Stopped partitions are errors, one for each reason, with a remedy.
func TestTaskChecks(t *testing.T) {
	running := &weirpb.Partition{App: "app", Partition: 0, State: "running"}
	standby := &weirpb.Partition{App: "app", Partition: 5, State: "standby"}
	stopped := func(p int32, reason string) *weirpb.Partition {
		return &weirpb.Partition{App: "app", Partition: p, State: "stopped", Reason: reason}
	}
	other := &weirpb.Partition{App: "other", Partition: 7, State: "stopped", Reason: "why"}
	for name, tc := range map[string]struct {
		tasks []*weirpb.Partition
		want  []string
	}{
		"well":      {[]*weirpb.Partition{running, standby, other}, nil},
		"unknown":   {[]*weirpb.Partition{running, stopped(5, "full")}, []string{"error p: partition 5 is stopped (full) (remove the reason"}},
		"recreated": {[]*weirpb.Partition{stopped(0, "topic in was deleted and created again"), stopped(1, "topic in was deleted and created again")}, []string{"error p: partitions 0, 1 are stopped (topic in was deleted and created again) (if dc or spend.generation"}},
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
		got := findings(memberChecks(t.Context(), node.Access{}, "app", members))
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
