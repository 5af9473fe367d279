package connect

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// process is the ClusterService of a process that counts the questions.
type process struct {
	weirpbconnect.UnimplementedClusterServiceHandler
	app   string
	asked int
}

func (p *process) ListPartitions(context.Context, *connect.Request[weirpb.ListPartitionsRequest]) (*connect.Response[weirpb.ListPartitionsResponse], error) {
	p.asked++
	return connect.NewResponse(&weirpb.ListPartitionsResponse{
		Partitions: []*weirpb.Partition{{App: p.app}, {App: "both"}},
		Waiting:    []*weirpb.WaitingRole{{Instance: "b", Reason: "role copier waits for us"}, {Instance: p.app, Reason: "role copier waits for eu"}},
	}), nil
}

// TestTasks: each process is asked once, and a role that waits is listed once, although two
// processes report it.
func TestTasks(t *testing.T) {
	tasks := NewTasks(node.Access{})
	for _, app := range []string{"x", "y"} {
		p := &process{app: app}
		mux := http.NewServeMux()
		mux.Handle(weirpbconnect.NewClusterServiceHandler(p))
		s := httptest.NewServer(mux)
		defer s.Close()
		for range 2 {
			list, err := tasks.Of(t.Context(), []processors.Member{{}, {Endpoint: s.Listener.Addr().String()}})
			if err != nil || len(list) != 2 || list[0].GetApp() != app {
				t.Errorf("%s: %v, %v", app, list, err)
			}
		}
		if p.asked != 1 {
			t.Errorf("%s was asked %d times", app, p.asked)
		}
	}
	if n := len(tasks.Known("both")); n != 2 {
		t.Errorf("%d partitions of an application of both", n)
	}
	if got, want := tasks.Waiting(), []string{"b: role copier waits for us", "x: role copier waits for eu", "y: role copier waits for eu"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
