package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/processors"
)

// Jobs implements api.JobSource with the runtime of the job queues, and the reader of its state.
type Jobs struct {
	runtime *processors.Runtime
	state   *StateReader
}

// NewJobs returns the source of a runtime.
func NewJobs(rt *processors.Runtime) Jobs { return Jobs{rt, NewStateReader(rt, nil)} }

// Ask implements api.JobSource.
func (j Jobs) Ask(ctx context.Context, partition int32, committed bool, fn func(*queues.Shard) error) error {
	ask := processors.Ask[*queues.Shard]
	if committed {
		ask = processors.AskCommitted[*queues.Shard]
	}
	return askError(partition, ask(ctx, j.runtime, partition, fn))
}

// askError returns the error of a question as api.JobSource describes it.
func askError(partition int32, err error) error {
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

// Shown implements api.JobSource.
func (j Jobs) Shown(partition int32) (*queues.Shown, error) {
	shard, err := processors.HandlerOf[*queues.Shard](j.runtime, partition)
	if err != nil {
		return nil, askError(partition, err)
	}
	return shard.Shown(), nil
}

// Rows implements api.JobSource.
func (j Jobs) Rows(ctx context.Context, partition int32, keys []api.RowKey) (values [][]byte, err error) {
	snap, _, err := j.state.open(partition, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	values = make([][]byte, len(keys))
	for i := range keys {
		if values[i], err = snap.Get(partition, keys[i].Table, keys[i].Key); err != nil {
			return nil, fmt.Errorf("table %d of partition %d: %w", keys[i].Table, partition, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

var _ api.JobSource = Jobs{}
