package connect

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// taskTimeout bounds the question to one process.
const taskTimeout = 3 * time.Second

// Tasks asks processes for their partitions, and keeps their answers: it asks each process once.
type Tasks struct {
	access  node.Access
	answers map[string]*weirpb.ListPartitionsResponse // by address
}

// NewTasks returns a Tasks without answers.
func NewTasks(x node.Access) *Tasks {
	return &Tasks{access: x, answers: map[string]*weirpb.ListPartitionsResponse{}}
}

// Of returns the partitions of all applications that run in one process of members. A process asks
// the others, so that the answer of one process is enough. If no process answers, the error is that
// of the last one. If members has no address, Of returns neither partitions nor an error.
func (t *Tasks) Of(ctx context.Context, members []processors.Member) (tasks []*weirpb.Partition, err error) {
	for _, m := range members {
		if res, known := t.answers[m.Endpoint]; known {
			return res.GetPartitions(), nil
		}
	}
	asked := map[string]bool{"": true}
	for _, m := range members {
		if asked[m.Endpoint] {
			continue
		}
		asked[m.Endpoint] = true
		var res *weirpb.ListPartitionsResponse
		if res, err = tasksAt(ctx, t.access, m.Endpoint); err == nil {
			t.answers[m.Endpoint] = res
			return res.GetPartitions(), nil
		}
	}
	return nil, err
}

// Known returns the partitions of an application in all answers, those of other applications' too.
func (t *Tasks) Known(app string) (tasks []*weirpb.Partition) {
	for _, at := range slices.Sorted(maps.Keys(t.answers)) {
		for _, p := range t.answers[at].GetPartitions() {
			if p.GetApp() == app {
				tasks = append(tasks, p)
			}
		}
	}
	return tasks
}

// Waiting returns the roles that wait for another cluster, by process, in all answers.
func (t *Tasks) Waiting() (roles []string) {
	for _, res := range t.answers {
		for _, w := range res.GetWaiting() {
			roles = append(roles, w.GetInstance()+": "+w.GetReason())
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles) // a process is in the answers of others, too
}

func tasksAt(ctx context.Context, x node.Access, endpoint string) (*weirpb.ListPartitionsResponse, error) {
	c := x.Client(endpoint)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	return c.ListPartitions(ctx)
}
