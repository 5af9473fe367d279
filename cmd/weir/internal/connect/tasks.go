package connect

import (
	"context"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// taskTimeout bounds the question to one process.
const taskTimeout = 3 * time.Second

// Tasks returns the partitions of all processes. Each process asks the others, so that the answer
// of one process is enough. If no process answers, the error is that of the last one. If members
// has no address, Tasks returns neither partitions nor an error.
func Tasks(ctx context.Context, x node.Access, members []processors.Member) (tasks []*weirpb.Partition, err error) {
	asked := map[string]bool{"": true}
	for _, m := range members {
		if asked[m.Endpoint] {
			continue
		}
		asked[m.Endpoint] = true
		if tasks, err = tasksAt(ctx, x, m.Endpoint); err == nil {
			return tasks, nil
		}
	}
	return nil, err
}

func tasksAt(ctx context.Context, x node.Access, endpoint string) ([]*weirpb.Partition, error) {
	c := x.Client(endpoint)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	res, err := c.ListPartitions(ctx)
	if err != nil {
		return nil, err
	}
	return res.GetPartitions(), nil
}
