package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/processors"
)

// Jobs implements api.JobSource with the runtime of the job queues.
type Jobs struct{ Runtime *processors.Runtime }

// Ask implements api.JobSource.
func (j Jobs) Ask(ctx context.Context, partition int32, committed bool, fn func(*queues.Shard) error) error {
	ask := processors.Ask[*queues.Shard]
	if committed {
		ask = processors.AskCommitted[*queues.Shard]
	}
	err := ask(ctx, j.Runtime, partition, fn)
	switch {
	case errors.Is(err, processors.ErrNotOwned), errors.Is(err, processors.ErrNotRunning), errors.Is(err, processors.ErrNoPartition):
		return gap(partition, api.StateRemote, err.Error())
	case errors.Is(err, processors.ErrRestoring):
		return gap(partition, "restoring", err.Error())
	case errors.Is(err, processors.ErrStopped):
		return gap(partition, "stopped", err.Error())
	case errors.Is(err, processors.ErrBusy):
		return fmt.Errorf("%w: %w", api.ErrShardBusy, err)
	case errors.Is(err, processors.ErrNotCommitted):
		return fmt.Errorf("%w: %w", api.ErrUncertain, err)
	}
	return err
}

var _ api.JobSource = Jobs{}
